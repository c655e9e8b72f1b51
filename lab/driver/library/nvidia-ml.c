/* Lab stand-in for libnvidia-ml.so (NVML): as much as tells a program the driver's version and which cards it may use. */
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>

#include "cards.h"

typedef int nvmlReturn_t;
typedef const struct card *nvmlDevice_t;

enum {
  NVML_SUCCESS = 0,
  NVML_ERROR_UNINITIALIZED = 1,
  NVML_ERROR_INVALID_ARGUMENT = 2,
  NVML_ERROR_NO_PERMISSION = 4,
  NVML_ERROR_INSUFFICIENT_SIZE = 7,
  NVML_ERROR_DRIVER_NOT_LOADED = 9,
  NVML_ERROR_LIB_RM_VERSION_MISMATCH = 18
};

static struct card cards[MAXIMUM_CARDS];
static int card_count = -1;

EXPORT nvmlReturn_t nvmlInit_v2(void) {
  char version[32];
  if (!module_version(version, sizeof version))
    return NVML_ERROR_DRIVER_NOT_LOADED;
  if (strcmp(version, DRIVER_VERSION) != 0)
    return NVML_ERROR_LIB_RM_VERSION_MISMATCH;
  if (!may_open("/dev/nvidiactl"))
    nvidia_modprobe("-c255", NULL);
  if (!may_open("/dev/nvidiactl"))
    return NVML_ERROR_NO_PERMISSION;
  card_count = read_cards(cards);
  announce_client();
  return NVML_SUCCESS;
}

EXPORT nvmlReturn_t nvmlShutdown(void) {
  if (card_count < 0)
    return NVML_ERROR_UNINITIALIZED;
  card_count = -1;
  return NVML_SUCCESS;
}

static nvmlReturn_t give(const char *text, char *buffer, unsigned length) {
  if (strlen(text) >= length)
    return NVML_ERROR_INSUFFICIENT_SIZE;
  strcpy(buffer, text);
  return NVML_SUCCESS;
}

EXPORT nvmlReturn_t nvmlSystemGetDriverVersion(char *version, unsigned length) {
  return card_count < 0 ? NVML_ERROR_UNINITIALIZED : give(DRIVER_VERSION, version, length);
}

EXPORT nvmlReturn_t nvmlDeviceGetCount_v2(unsigned *count) {
  if (card_count < 0)
    return NVML_ERROR_UNINITIALIZED;
  *count = (unsigned)card_count;
  return NVML_SUCCESS;
}

EXPORT nvmlReturn_t nvmlDeviceGetHandleByIndex_v2(unsigned index, nvmlDevice_t *device) {
  if (card_count < 0)
    return NVML_ERROR_UNINITIALIZED;
  if (index >= (unsigned)card_count)
    return NVML_ERROR_INVALID_ARGUMENT;
  *device = &cards[index];
  return NVML_SUCCESS;
}

EXPORT nvmlReturn_t nvmlDeviceGetUUID(nvmlDevice_t device, char *uuid, unsigned length) {
  return give(device->uuid, uuid, length);
}

EXPORT nvmlReturn_t nvmlDeviceGetName(nvmlDevice_t device, char *name, unsigned length) {
  return give(device->name, name, length);
}

EXPORT const char *nvmlErrorString(nvmlReturn_t result) {
  switch (result) {
  case NVML_SUCCESS:
    return "Success";
  case NVML_ERROR_UNINITIALIZED:
    return "Uninitialized";
  case NVML_ERROR_INVALID_ARGUMENT:
    return "Invalid Argument";
  case NVML_ERROR_NO_PERMISSION:
    return "Insufficient Permissions";
  case NVML_ERROR_INSUFFICIENT_SIZE:
    return "Insufficient Size";
  case NVML_ERROR_DRIVER_NOT_LOADED:
    return "Driver Not Loaded";
  case NVML_ERROR_LIB_RM_VERSION_MISMATCH:
    return "Driver/library version mismatch";
  default:
    return "Unknown Error";
  }
}
