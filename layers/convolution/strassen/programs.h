#pragma once
#include "layers/convolution/strassen/forward_program.h"
#include "layers/convolution/strassen/gradient_program.h"
