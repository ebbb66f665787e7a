#include "tls.h"

__thread struct tls tls __attribute__((tls_model("initial-exec")));
