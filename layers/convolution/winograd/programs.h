#pragma once
#include "layers/convolution/winograd/forward_program.h"
#include "layers/convolution/winograd/gradient_program.h"
#include "layers/convolution/winograd/phase_programs.h"
