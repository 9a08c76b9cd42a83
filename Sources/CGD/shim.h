#include <gd.h>
#include <gdfonts.h>
