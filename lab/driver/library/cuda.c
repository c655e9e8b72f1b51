/*
 * Lab stand-in for libcuda.so: the part of the CUDA driver API with which a program finds the cards and opens a context on one.
 * Results are the real library's: 100 without a card, 803 when module and library differ, 999 when the uvm node is missing.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cards.h"

typedef int CUresult;
typedef int CUdevice;
typedef struct context *CUcontext;
typedef struct {
  unsigned char bytes[16];
} CUuuid;

enum {
  CUDA_SUCCESS = 0,
  CUDA_ERROR_INVALID_VALUE = 1,
  CUDA_ERROR_OUT_OF_MEMORY = 2,
  CUDA_ERROR_NOT_INITIALIZED = 3,
  CUDA_ERROR_NO_DEVICE = 100,
  CUDA_ERROR_INVALID_DEVICE = 101,
  CUDA_ERROR_INVALID_CONTEXT = 201,
  CUDA_ERROR_NOT_SUPPORTED = 801,
  CUDA_ERROR_SYSTEM_DRIVER_MISMATCH = 803,
  CUDA_ERROR_UNKNOWN = 999
};

enum {
  ATTRIBUTE_MAX_THREADS_PER_BLOCK = 1,
  ATTRIBUTE_WARP_SIZE = 10,
  ATTRIBUTE_PCI_BUS = 33,
  ATTRIBUTE_PCI_DEVICE = 34,
  ATTRIBUTE_PCI_DOMAIN = 50,
  ATTRIBUTE_CAPABILITY_MAJOR = 75,
  ATTRIBUTE_CAPABILITY_MINOR = 76
};

static const struct {
  CUresult result;
  const char *name;
  const char *text;
} results[] = {
    {CUDA_SUCCESS, "CUDA_SUCCESS", "no error"},
    {CUDA_ERROR_INVALID_VALUE, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {CUDA_ERROR_OUT_OF_MEMORY, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {CUDA_ERROR_NOT_INITIALIZED, "CUDA_ERROR_NOT_INITIALIZED", "initialization error"},
    {CUDA_ERROR_NO_DEVICE, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
    {CUDA_ERROR_INVALID_DEVICE, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"},
    {CUDA_ERROR_INVALID_CONTEXT, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"},
    {CUDA_ERROR_NOT_SUPPORTED, "CUDA_ERROR_NOT_SUPPORTED", "operation not supported"},
    {CUDA_ERROR_SYSTEM_DRIVER_MISMATCH, "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH",
     "system has unsupported display driver / cuda driver combination"},
    {CUDA_ERROR_UNKNOWN, "CUDA_ERROR_UNKNOWN", "unknown error"},
};

struct context {
  CUdevice device;
  /* The node, held open: this is what keeps the kernel module in use and shows the process to nvidia-smi. */
  int node;
};

static struct card cards[MAXIMUM_CARDS];
static int card_count = -1;
static __thread struct context *current;

/* Keeps the cards that CUDA_VISIBLE_DEVICES names, in its order: indices or (beginnings of) UUIDs; the first wrong one ends it. */
static int select_visible(int found) {
  const char *visible = getenv("CUDA_VISIBLE_DEVICES");
  if (!visible)
    return found;
  struct card chosen[MAXIMUM_CARDS];
  char names[1024], *rest = names, *name;
  int count = 0;
  snprintf(names, sizeof names, "%s", visible);
  while ((name = strsep(&rest, ",")) && count < found) {
    int index = -1;
    char *end;
    long number = strtol(name, &end, 10);
    if (*name && !*end && number >= 0 && number < found)
      index = (int)number;
    else if (strncmp(name, "GPU-", 4) == 0)
      for (int i = 0; i < found; i++)
        if (strncmp(cards[i].uuid, name, strlen(name)) == 0)
          index = i;
    if (index < 0)
      break;
    chosen[count++] = cards[index];
  }
  memcpy(cards, chosen, sizeof chosen[0] * count);
  return count;
}

EXPORT CUresult cuInit(unsigned flags) {
  char version[32];
  if (flags)
    return CUDA_ERROR_INVALID_VALUE;
  if (card_count >= 0)
    return CUDA_SUCCESS;
  if (!module_version(version, sizeof version))
    return CUDA_ERROR_NO_DEVICE;
  if (!may_open("/dev/nvidiactl"))
    nvidia_modprobe("-c255", NULL);
  if (!may_open("/dev/nvidiactl"))
    return CUDA_ERROR_NO_DEVICE;
  if (strcmp(version, DRIVER_VERSION) != 0)
    return CUDA_ERROR_SYSTEM_DRIVER_MISMATCH;
  int found = read_cards(cards);
  if (found == 0)
    return CUDA_ERROR_NO_DEVICE;
  if (!may_open("/dev/nvidia-uvm"))
    nvidia_modprobe("-u", "-c0");
  if (!may_open("/dev/nvidia-uvm"))
    return CUDA_ERROR_UNKNOWN;
  announce_client();
  found = select_visible(found);
  if (found == 0)
    return CUDA_ERROR_NO_DEVICE;
  card_count = found;
  return CUDA_SUCCESS;
}

static CUresult check_device(CUdevice device) {
  if (card_count < 0)
    return CUDA_ERROR_NOT_INITIALIZED;
  return device >= 0 && device < card_count ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}

EXPORT CUresult cuDriverGetVersion(int *version) {
  if (!version)
    return CUDA_ERROR_INVALID_VALUE;
  *version = CUDA_VERSION;
  return CUDA_SUCCESS;
}

EXPORT CUresult cuDeviceGetCount(int *count) {
  if (card_count < 0)
    return CUDA_ERROR_NOT_INITIALIZED;
  *count = card_count;
  return CUDA_SUCCESS;
}

EXPORT CUresult cuDeviceGet(CUdevice *device, int ordinal) {
  CUresult result = check_device(ordinal);
  if (result == CUDA_SUCCESS)
    *device = ordinal;
  return result;
}

EXPORT CUresult cuDeviceGetName(char *name, int length, CUdevice device) {
  CUresult result = check_device(device);
  if (result == CUDA_SUCCESS)
    snprintf(name, (size_t)length, "%s", cards[device].name);
  return result;
}

EXPORT CUresult cuDeviceGetUuid_v2(CUuuid *uuid, CUdevice device) {
  CUresult result = check_device(device);
  if (result != CUDA_SUCCESS)
    return result;
  const char *digit = cards[device].uuid + strlen("GPU-");
  for (int i = 0; i < 16; i++) {
    unsigned byte;
    if (*digit == '-')
      digit++;
    if (sscanf(digit, "%2x", &byte) != 1)
      return CUDA_ERROR_UNKNOWN;
    uuid->bytes[i] = (unsigned char)byte;
    digit += 2;
  }
  return CUDA_SUCCESS;
}

EXPORT CUresult cuDeviceGetUuid(CUuuid *uuid, CUdevice device) { return cuDeviceGetUuid_v2(uuid, device); }

EXPORT CUresult cuDeviceGetPCIBusId(char *address, int length, CUdevice device) {
  CUresult result = check_device(device);
  if (result == CUDA_SUCCESS)
    snprintf(address, (size_t)length, "%s", cards[device].pci);
  return result;
}

EXPORT CUresult cuDeviceGetAttribute(int *value, int attribute, CUdevice device) {
  CUresult result = check_device(device);
  unsigned domain, bus, slot;
  if (result != CUDA_SUCCESS)
    return result;
  const struct card *card = &cards[device];
  if (sscanf(card->pci, "%x:%x:%x", &domain, &bus, &slot) != 3)
    return CUDA_ERROR_UNKNOWN;
  switch (attribute) {
  case ATTRIBUTE_MAX_THREADS_PER_BLOCK:
    *value = 1024;
    return CUDA_SUCCESS;
  case ATTRIBUTE_WARP_SIZE:
    *value = 32;
    return CUDA_SUCCESS;
  case ATTRIBUTE_PCI_BUS:
    *value = (int)bus;
    return CUDA_SUCCESS;
  case ATTRIBUTE_PCI_DEVICE:
    *value = (int)slot;
    return CUDA_SUCCESS;
  case ATTRIBUTE_PCI_DOMAIN:
    *value = (int)domain;
    return CUDA_SUCCESS;
  case ATTRIBUTE_CAPABILITY_MAJOR:
    *value = card->capability_major;
    return CUDA_SUCCESS;
  case ATTRIBUTE_CAPABILITY_MINOR:
    *value = card->capability_minor;
    return CUDA_SUCCESS;
  default:
    return CUDA_ERROR_INVALID_VALUE;
  }
}

EXPORT CUresult cuDeviceTotalMem_v2(size_t *bytes, CUdevice device) {
  CUresult result = check_device(device);
  if (result == CUDA_SUCCESS)
    *bytes = (size_t)cards[device].memory_mib << 20;
  return result;
}

EXPORT CUresult cuCtxCreate_v2(CUcontext *context, unsigned flags, CUdevice device) {
  char node[32];
  CUresult result = check_device(device);
  (void)flags;
  if (result != CUDA_SUCCESS)
    return result;
  snprintf(node, sizeof node, "/dev/nvidia%d", cards[device].minor);
  struct context *created = malloc(sizeof *created);
  if (!created)
    return CUDA_ERROR_OUT_OF_MEMORY;
  created->device = device;
  created->node = open(node, O_PATH | O_CLOEXEC);
  if (created->node < 0) {
    free(created);
    return CUDA_ERROR_UNKNOWN;
  }
  *context = current = created;
  return CUDA_SUCCESS;
}

EXPORT CUresult cuCtxDestroy_v2(CUcontext context) {
  if (!context)
    return CUDA_ERROR_INVALID_CONTEXT;
  if (current == context)
    current = NULL;
  close(context->node);
  free(context);
  return CUDA_SUCCESS;
}

/* The one context of a device that all of a process share; the runtime's programs use no other. */
static struct {
  CUcontext context;
  unsigned users;
} primary[MAXIMUM_CARDS];

EXPORT CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device) {
  CUresult result = check_device(device);
  if (result != CUDA_SUCCESS)
    return result;
  if (primary[device].users == 0) {
    CUcontext before = current;
    result = cuCtxCreate_v2(&primary[device].context, 0, device);
    /* Unlike cuCtxCreate, it does not make the context current. */
    current = before;
    if (result != CUDA_SUCCESS)
      return result;
  }
  primary[device].users++;
  *context = primary[device].context;
  return CUDA_SUCCESS;
}

EXPORT CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device) {
  CUresult result = check_device(device);
  if (result != CUDA_SUCCESS)
    return result;
  if (primary[device].users == 0)
    return CUDA_ERROR_INVALID_CONTEXT;
  if (--primary[device].users == 0) {
    cuCtxDestroy_v2(primary[device].context);
    primary[device].context = NULL;
  }
  return CUDA_SUCCESS;
}

EXPORT CUresult cuDevicePrimaryCtxRelease(CUdevice device) { return cuDevicePrimaryCtxRelease_v2(device); }

EXPORT CUresult cuCtxSynchronize(void) { return current ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT; }

EXPORT CUresult cuMemGetInfo_v2(size_t *available, size_t *total) {
  if (!current)
    return CUDA_ERROR_INVALID_CONTEXT;
  const struct card *card = &cards[current->device];
  unsigned long long used = used_mib(card->minor);
  *total = (size_t)card->memory_mib << 20;
  *available = used < card->memory_mib ? (size_t)(card->memory_mib - used) << 20 : 0;
  return CUDA_SUCCESS;
}

static CUresult describe(CUresult result, const char **text, int want_name) {
  for (size_t i = 0; i < sizeof results / sizeof results[0]; i++)
    if (results[i].result == result) {
      *text = want_name ? results[i].name : results[i].text;
      return CUDA_SUCCESS;
    }
  *text = NULL;
  return CUDA_ERROR_INVALID_VALUE;
}

EXPORT CUresult cuGetErrorName(CUresult result, const char **name) { return describe(result, name, 1); }
EXPORT CUresult cuGetErrorString(CUresult result, const char **text) { return describe(result, text, 0); }

#include "no-compute.h"
