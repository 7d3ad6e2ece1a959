#pragma once

#include <optional>
#include <string>

#include <sheaf/csr.hpp>

// Checks a sparse matrix-vector product in host memory, entry by entry.
namespace sheaf::jobs {

/// What a product was asked to be.
struct product_terms {
  double alpha = 1;
  double beta = 0;
  const double* y_before = nullptr;  ///< read if beta is not 0
  bool transposed = false;
  int threads = 1;
};

/// The first value of y that no order of sums explains: it differs from the exact sum by more than n eps sum |a| |x|,
/// where n is the number of its terms and eps the precision of the type, and by more than is lost where numbers below
/// the least normal one are taken for zero, as some devices do. A value whose terms may overflow together is not
/// judged. The matrix has rows one after another.
std::optional<std::string> product_mistake(const csr_view& a, const_values x, const_values y,
                                           const product_terms& terms);

}  // namespace sheaf::jobs
