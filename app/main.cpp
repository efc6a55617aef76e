#include "app/backend.h"

int main() { return cortado::make_processor() ? 0 : 1; }
