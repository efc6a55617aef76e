#pragma once
#include "layers/convolution/direct/forward_program.h"
#include "layers/convolution/direct/gradient_program.h"
