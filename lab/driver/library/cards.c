#define _GNU_SOURCE
#include "cards.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#define NVIDIA_MAJOR 195
#define DEFAULT_MIB 256

int module_version(char *version, unsigned size) {
  char line[256] = "";
  FILE *file = fopen("/proc/driver/nvidia/version", "re");
  if (!file)
    return 0;
  if (!fgets(line, sizeof line, file))
    line[0] = 0;
  fclose(file);
  /* The first word that is made of digits and dots, at least three digits first; its column differs between module kinds. */
  for (char *word = strtok(line, " \t\n"); word; word = strtok(NULL, " \t\n")) {
    if (strspn(word, "0123456789") >= 3 && strspn(word, "0123456789.") == strlen(word)) {
      snprintf(version, size, "%s", word);
      return 1;
    }
  }
  return 0;
}

int may_open(const char *path) {
  int file = open(path, O_RDWR | O_CLOEXEC);
  if (file >= 0) {
    close(file);
    return 1;
  }
  return errno == ENXIO || errno == ENODEV;
}

static void run(char *const arguments[]) {
  extern char **environ;
  pid_t child;
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
  if (posix_spawn(&child, arguments[0], &actions, NULL, arguments, environ) == 0)
    waitpid(child, NULL, 0);
  posix_spawn_file_actions_destroy(&actions);
}

void nvidia_modprobe(const char *option, const char *second_option) {
  char *arguments[] = {"/usr/bin/nvidia-modprobe", (char *)option, (char *)second_option, NULL};
  run(arguments);
}

void announce_client(void) {
  char *arguments[] = {"/usr/local/lib/lab/lab-kernel", "opened", NULL};
  if (geteuid() == 0 && access(arguments[0], X_OK) == 0)
    run(arguments);
}

int read_cards(struct card *cards) {
  int count = 0;
  char line[512];
  FILE *file = fopen("/proc/driver/nvidia/.lab", "re");
  if (!file)
    return 0;
  while (count < MAXIMUM_CARDS && fgets(line, sizeof line, file)) {
    struct card *card = &cards[count];
    char node[32], option[16];
    if (sscanf(line, "%15[^|]|%d|%47[^|]|%95[^|]|%llu|%d.%d", card->pci, &card->minor, card->uuid, card->name,
               &card->memory_mib, &card->capability_major, &card->capability_minor) != 7)
      continue;
    snprintf(node, sizeof node, "/dev/nvidia%d", card->minor);
    if (!may_open(node)) {
      snprintf(option, sizeof option, "-c%d", card->minor);
      nvidia_modprobe(option, NULL);
    }
    if (may_open(node))
      count++;
  }
  fclose(file);
  return count;
}

/* MiB that one process says it uses. */
static unsigned long long mib_of_process(const char *pid) {
  char path[64], *entry = NULL;
  size_t size = 0;
  unsigned long long mib = DEFAULT_MIB;
  snprintf(path, sizeof path, "/proc/%.20s/environ", pid);
  FILE *file = fopen(path, "re");
  if (!file)
    return mib;
  while (getdelim(&entry, &size, 0, file) > 0) {
    if (strncmp(entry, "LAB_GPU_MIB=", 12) == 0)
      mib = strtoull(entry + 12, NULL, 10);
  }
  free(entry);
  fclose(file);
  return mib;
}

static int holds_node(const char *pid, int wanted_minor) {
  char path[64];
  int held = 0;
  struct dirent *entry;
  struct stat status;
  snprintf(path, sizeof path, "/proc/%.20s/fd", pid);
  DIR *folder = opendir(path);
  if (!folder)
    return 0;
  while (!held && (entry = readdir(folder))) {
    if (fstatat(dirfd(folder), entry->d_name, &status, 0) == 0 && S_ISCHR(status.st_mode))
      held = major(status.st_rdev) == NVIDIA_MAJOR && (int)minor(status.st_rdev) == wanted_minor;
  }
  closedir(folder);
  return held;
}

unsigned long long used_mib(int minor) {
  unsigned long long total = 0;
  struct dirent *entry;
  DIR *folder = opendir("/proc");
  if (!folder)
    return 0;
  while ((entry = readdir(folder))) {
    if (isdigit((unsigned char)entry->d_name[0]) && holds_node(entry->d_name, minor))
      total += mib_of_process(entry->d_name);
  }
  closedir(folder);
  return total;
}
