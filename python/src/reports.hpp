#pragma once

#include <nanobind/nanobind.h>

#include <sheaf/plan.hpp>

namespace sheaf::python {

/// What a preparation found, took and saves.
nanobind::dict report_of(const preparation_report& report);

}  // namespace sheaf::python
