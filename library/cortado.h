#pragma once

/// The public headers of libcortado: a job, its session, nets, solvers, blobs, messages, errors and the log.
/// docs/use/library.md shows how a program uses them.
#include "app/session/session.h"
#include "comm/job.h"
#include "core/base/error.h"
#include "core/base/log.h"
#include "core/base/log_level.h"
#include "core/formats/caffe.pb.h"
#include "core/formats/prototxt.h"
#include "core/net/known_net.h"
#include "core/net/net.h"
#include "core/solver/core_groups.h"
#include "core/solver/solver.h"
#include "core/tensor/blob.h"
#include "library/trainer.h"
#include "library/version.h"
