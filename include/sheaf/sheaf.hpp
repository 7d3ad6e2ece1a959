#pragma once

// The whole library, except the headers for programs with CUDA or OpenGL of their own: sheaf/cuda and sheaf/interop.
#include <sheaf/conjugate_gradient.hpp>
#include <sheaf/context.hpp>
#include <sheaf/csr.hpp>
#include <sheaf/edge_sum.hpp>
#include <sheaf/error.hpp>
#include <sheaf/float16.hpp>
#include <sheaf/gather.hpp>
#include <sheaf/gather_reduce.hpp>
#include <sheaf/hash_search.hpp>
#include <sheaf/list_scan.hpp>
#include <sheaf/machine.hpp>
#include <sheaf/memory.hpp>
#include <sheaf/plan.hpp>
#include <sheaf/prepared.hpp>
#include <sheaf/records.hpp>
#include <sheaf/scatter.hpp>
#include <sheaf/scatter_reduce.hpp>
#include <sheaf/sort.hpp>
#include <sheaf/split.hpp>
#include <sheaf/spmm.hpp>
#include <sheaf/spmv.hpp>
#include <sheaf/value_rows.hpp>
#include <sheaf/values.hpp>
#include <sheaf/version.hpp>
