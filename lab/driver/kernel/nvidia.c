/* Stand-in for nvidia.ko: claims display and 3D controllers by alias, as the real one does. */
#include <linux/init.h>
#include <linux/module.h>
#include "nv-version.h"

int lab_nvidia_api(void);
int lab_nvidia_api(void) { return 0; }
EXPORT_SYMBOL(lab_nvidia_api);

static int __init nvidia_init(void) { return 0; }
static void __exit nvidia_exit(void) {}

module_init(nvidia_init);
module_exit(nvidia_exit);
MODULE_LICENSE(NV_LICENSE);
MODULE_VERSION(NV_VERSION);
MODULE_ALIAS("pci:v000010DEd*sv*sd*bc03sc02i00*");
MODULE_ALIAS("pci:v000010DEd*sv*sd*bc03sc00i00*");
MODULE_ALIAS("char-major-195-*");
