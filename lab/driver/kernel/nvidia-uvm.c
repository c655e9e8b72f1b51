/* Stand-in for nvidia-uvm.ko (unified memory): needs nvidia.ko. */
#include <linux/init.h>
#include <linux/module.h>
#include "nv-version.h"

int lab_nvidia_api(void);

static int __init nvidia_uvm_init(void) { return lab_nvidia_api(); }
static void __exit nvidia_uvm_exit(void) {}

module_init(nvidia_uvm_init);
module_exit(nvidia_uvm_exit);
MODULE_LICENSE(NV_LICENSE);
MODULE_VERSION(NV_VERSION);
