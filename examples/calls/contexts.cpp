#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include <sheaf/sheaf.hpp>

#include "calls.hpp"

namespace calls {

namespace {

void make_contexts() {
  //! [context]
  const sheaf::context host = sheaf::context::cpu(2);  // two threads; without a number, as many as OpenMP takes
  sheaf::context best = sheaf::context::best();        // the first CUDA device, or the CPU
  try {
    const sheaf::context gpu = sheaf::context::cuda(0);                        // that device and no other
    const sheaf::context pipeline = sheaf::context::opengl(0);                 // through OpenGL
    const sheaf::context any = sheaf::context::on(sheaf::backend_kind::cuda);  // the first device of a backend
    if (gpu.stream() != nullptr) std::printf("device %d has a stream\n", gpu.device());
  } catch (const sheaf::error& e) {
    std::printf("%s\n", e.what());  // context::cuda: no CUDA device
  }
  std::printf("%s, %d threads, planned by %s\n", sheaf::name(best.backend()).data(), best.threads(),
              best.profile().name.c_str());
  if (!best.ignored_profile().empty()) std::printf("%s\n", best.ignored_profile().data());

  best.limit_scratch(64 << 20);  // no call takes more than 64 MiB of scratch
  best.use(best.profile());      // plans by this profile from now on
  best.learn(true);              // times the first calls of a shape where two plans are close
  if (best.learns()) std::printf("explanations say what was learned\n");
  if (best.scratch_limit() > 0 && best.status() != sheaf::work_status::failed) best.wait();
  //! [context]
  expect(host.threads() == 2);
}

void name_things() {
  //! [name]
  const auto backend = sheaf::name(sheaf::backend_kind::cuda);     // "cuda"
  const auto code = sheaf::name(sheaf::error_code::bad_index);     // "bad_index"
  const auto reason = sheaf::name(sheaf::stop_reason::converged);  // "converged"
  //! [name]
  expect(backend == "cuda" && code == "bad_index" && reason == "converged");
}

void catch_an_error() {
  //! [error]
  const sheaf::context ctx = sheaf::context::cpu();
  const std::vector<int> table{1, 2, 3}, index{0, 999};
  std::vector<int> out(2);
  try {
    sheaf::gather(ctx, table, index, out);
    ctx.wait();
  } catch (const sheaf::error& e) {
    if (e.code() != sheaf::error_code::bad_index) throw;
    std::printf("%s\n", e.what());  // gather: index[1] is 999, past the table's 3 records
  }
  //! [error]
  expect(out[0] == 1 && out[1] == 0);
}

void take_memory() {
  //! [buffer]
  const sheaf::context ctx = sheaf::context::best();
  sheaf::buffer memory(ctx, 1000 * sizeof(float));  // where the context works, also on a device
  float* const numbers = memory.as<float>();
  const bool is_there = memory.data() != nullptr && memory.size() == 4000;
  //! [buffer]
  //! [copy_bytes]
  const std::vector<float> host(1000, 2.5F);
  sheaf::copy_bytes(ctx, numbers, host.data(), memory.size());  // to the device, if the context is of one
  //! [copy_bytes]
  expect(is_there);
}

void lend_memory() {
  //! [memory_resource]
  // Memory that the program counts. That of a CUDA context would be memory of the device, in the order of the stream.
  std::uint64_t taken = 0;
  const sheaf::memory_resource counted{.allocate = [](void* state, std::uint64_t bytes, CUstream_st*) -> void* {
                                         *static_cast<std::uint64_t*>(state) += bytes;
                                         return std::aligned_alloc(256, (bytes + 255) / 256 * 256);
                                       },
                                       .deallocate =
                                           [](void* state, void* block, std::uint64_t bytes, CUstream_st*) {
                                             *static_cast<std::uint64_t*>(state) -= bytes;
                                             std::free(block);
                                           },
                                       .state = &taken};
  sheaf::context ctx = sheaf::context::cpu(2);
  ctx.use(counted);  // scratch of calls, and what results and prepared objects keep
  const sheaf::buffer memory(ctx, 4096);
  std::printf("the context has taken %llu bytes\n", static_cast<unsigned long long>(taken));
  //! [memory_resource]
  expect(taken >= 4096);
}

void read_profiles() {
  //! [shipped_machines]
  for (const sheaf::machine& shipped : sheaf::shipped_machines()) std::printf("%s\n", shipped.name.c_str());
  //! [shipped_machines]
  //! [nearest_machine]
  const sheaf::machine near = sheaf::nearest_machine(sheaf::backend_kind::cpu, "my processor");
  //! [nearest_machine]
  //! [machine]
  std::printf("1 GB streams in %.3f s\n", near.streamed(1'000'000'000, 1'000'000'000));
  std::printf("10^8 random reads of 8 bytes in 1 GB take %.3f s, writes %.3f s, atomic additions %.3f s\n",
              near.random_reads(100'000'000, 8, 1'000'000'000), near.random_writes(100'000'000, 8, 1'000'000'000),
              near.atomic_adds(100'000'000, 8, 1'000'000'000));
  const double transfers = near.uploaded(1 << 20) + near.read_back(1 << 20);  // 0: a CPU works in place
  const sheaf::machine with_one_thread = near.with_parallelism(1);
  //! [machine]
  expect(transfers == 0 && with_one_thread.parallelism == 1);
}

void keep_profiles() {
  const std::string folder =
      (std::filesystem::temp_directory_path() / ("sheaf-example-" + std::to_string(getpid()))).string();
  std::filesystem::create_directories(folder);
  setenv("XDG_CACHE_HOME", folder.c_str(), 1);
  const std::string path = folder + "/profile.json";
  sheaf::context ctx = sheaf::context::cpu(1);
  const double seconds = 0.05;  // too short for predictions; a minute is the default
  //! [calibrate]
  // Nothing else should run on the device for so long.
  try {
    ctx.use(sheaf::calibrate(ctx, {.seconds = seconds, .progress = [](std::string_view step, double share) {
                                     std::printf("%3.0f %% %s\n", 100 * share, step.data());
                                   }}));
  } catch (const sheaf::error& e) {
    if (e.code() != sheaf::error_code::measurement_failed) throw;
    std::printf("the device was busy: %s\n", e.what());  // predictions stay those of the profile before
  }
  //! [calibrate]
  //! [save_machine]
  sheaf::save_machine(ctx.profile(), path);
  //! [save_machine]
  //! [load_machine]
  ctx.use(sheaf::load_machine(path));
  //! [load_machine]
  //! [format_machine]
  const std::string json = sheaf::format_machine(ctx.profile());
  //! [format_machine]
  //! [parse_machine]
  const sheaf::machine profile = sheaf::parse_machine(json, "my settings");
  //! [parse_machine]
  expect(profile.name == ctx.profile().name);
  //! [store_machine]
  const std::string stored_at = sheaf::store_machine(profile);  // new contexts of this device find it there
  //! [store_machine]
  //! [default_machine_path]
  const std::string looked_at = sheaf::default_machine_path(sheaf::backend_kind::cpu, profile.name);
  //! [default_machine_path]
  //! [load_stored_machine]
  const sheaf::stored_machine stored = sheaf::load_stored_machine(sheaf::backend_kind::cpu, profile.name);
  if (!stored.profile) std::printf("no profile: %s\n", stored.ignored.c_str());
  //! [load_stored_machine]
  expect(stored_at == looked_at);
  std::filesystem::remove_all(folder);
  unsetenv("XDG_CACHE_HOME");
}

}  // namespace

void show_contexts() {
  make_contexts();
  name_things();
  catch_an_error();
  take_memory();
  lend_memory();
  read_profiles();
  keep_profiles();
}

}  // namespace calls
