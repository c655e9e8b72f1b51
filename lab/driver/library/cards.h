/* What the lab's driver libraries know of the cards: those that the loaded module shows and this process may open. */
#ifndef LAB_CARDS_H
#define LAB_CARDS_H

#define MAXIMUM_CARDS 32
#define EXPORT __attribute__((visibility("default")))

struct card {
  char pci[16];
  char uuid[48];
  char name[96];
  int minor;
  unsigned long long memory_mib;
  int capability_major;
  int capability_minor;
};

/* Version of the loaded kernel module, or 0 when none is loaded. */
int module_version(char *version, unsigned size);

/* Whether this process may open a device node. The lab has no driver behind the nodes: ENXIO and ENODEV mean "allowed". */
int may_open(const char *path);

/* Runs nvidia-modprobe with one or two options, as the real libraries do to make missing nodes; failures are silent. */
void nvidia_modprobe(const char *option, const char *second_option);

/* Tells the lab's kernel that a client opened the cards. */
void announce_client(void);

/* Fills in the cards that this process may open, making their nodes where it can; returns how many. */
int read_cards(struct card *cards);

/* MiB that processes visible from here hold on a card: LAB_GPU_MIB of each process with an open node, 256 without it. */
unsigned long long used_mib(int minor);

#endif
