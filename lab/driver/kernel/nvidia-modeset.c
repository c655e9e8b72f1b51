/* Stand-in for nvidia-modeset.ko: needs nvidia.ko. */
#include <linux/init.h>
#include <linux/module.h>
#include "nv-version.h"

int lab_nvidia_api(void);
int lab_modeset_api(void);
int lab_modeset_api(void) { return 0; }
EXPORT_SYMBOL(lab_modeset_api);

static int __init nvidia_modeset_init(void) { return lab_nvidia_api(); }
static void __exit nvidia_modeset_exit(void) {}

module_init(nvidia_modeset_init);
module_exit(nvidia_modeset_exit);
MODULE_LICENSE(NV_LICENSE);
MODULE_VERSION(NV_VERSION);
