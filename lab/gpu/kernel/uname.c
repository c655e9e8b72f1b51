/*
 * Preloaded into every dynamically linked program of a lab host: uname(2) answers with the host's own kernel release.
 * The release is what /proc/sys/kernel/osrelease says, which the lab mounts over the machine's; containers keep the machine's.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

int uname(struct utsname *name) {
  char release[sizeof name->release] = "";
  int result = syscall(SYS_uname, name);
  if (result != 0)
    return result;
  int file = open("/proc/sys/kernel/osrelease", O_RDONLY | O_CLOEXEC);
  if (file < 0)
    return 0;
  ssize_t length = read(file, release, sizeof release - 1);
  close(file);
  if (length <= 0)
    return 0;
  release[strcspn(release, "\n")] = 0;
  if (strcmp(release, name->release) != 0) {
    strcpy(name->release, release);
    strcpy(name->version, "#1 SMP PREEMPT_DYNAMIC PMX");
  }
  return 0;
}
