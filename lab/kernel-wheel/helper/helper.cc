#include "helper.h"

long helper_version() { return 1; }
