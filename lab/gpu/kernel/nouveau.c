/* Stand-in for the nouveau driver: it claims every NVIDIA display device by alias and does nothing. */
#include <linux/init.h>
#include <linux/module.h>

static int modeset = -1;
module_param(modeset, int, 0400);

static int __init nouveau_init(void) { return 0; }
static void __exit nouveau_exit(void) {}

module_init(nouveau_init);
module_exit(nouveau_exit);
MODULE_LICENSE("GPL");
MODULE_ALIAS("pci:v000010DEd*sv*sd*bc03sc*i*");
