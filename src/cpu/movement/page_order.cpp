#include "cpu/movement/page_order.hpp"

#include <fstream>
#include <string>

namespace sheaf::cpu {

bool has_huge_pages_unasked() {
  static const bool unasked = [] {
    std::ifstream setting("/sys/kernel/mm/transparent_hugepage/enabled");
    std::string line;
    return std::getline(setting, line) && line.find("[always]") != std::string::npos;
  }();
  return unasked;
}

}  // namespace sheaf::cpu
