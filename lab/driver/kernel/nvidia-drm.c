/* Stand-in for nvidia-drm.ko: needs nvidia-modeset.ko. */
#include <linux/init.h>
#include <linux/module.h>
#include "nv-version.h"

int lab_modeset_api(void);

static int __init nvidia_drm_init(void) { return lab_modeset_api(); }
static void __exit nvidia_drm_exit(void) {}

module_init(nvidia_drm_init);
module_exit(nvidia_drm_exit);
MODULE_LICENSE(NV_LICENSE);
MODULE_VERSION(NV_VERSION);
