#include "cpu/movement/page_order.hpp"

#include <fstream>
#include <string>

namespace sheaf::cpu {

bool gives_huge_pages_unasked() {
  static const bool always = [] {
    std::ifstream setting("/sys/kernel/mm/transparent_hugepage/enabled");
    std::string line;
    return std::getline(setting, line) && line.find("[always]") != std::string::npos;
  }();
  return always;
}

}  // namespace sheaf::cpu
