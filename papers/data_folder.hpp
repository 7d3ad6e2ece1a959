#pragma once

#include <string>

namespace sheaf::bench::papers {

/// The folder of matrices and meshes: the one that is asked for, else that of SHEAF_DATA_DIR where it is one, else
/// none.
/// @param takes_environment  whether to look at SHEAF_DATA_DIR, which a run of size `tiny` does not
/// @throws error(bad_input) with its name, if there is no folder where one is asked for
std::string data_folder(const std::string& asked, bool takes_environment);

}  // namespace sheaf::bench::papers
