#include "xgrad/version.hpp"

#define XGRAD_TEXT_(x) #x
#define XGRAD_TEXT(x) XGRAD_TEXT_(x)

const char* xgrad::version() {
  return XGRAD_TEXT(XGRAD_VERSION_MAJOR) "." XGRAD_TEXT(XGRAD_VERSION_MINOR) "." XGRAD_TEXT(
      XGRAD_VERSION_PATCH);
}
