#include "apps/sheaf/ranks/process.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include <dlfcn.h>
#include <sched.h>
#include <unistd.h>

#include "apps/sheaf/files/streams.hpp"
#include "distributed/mpi/process.hpp"
#include "distributed/state.hpp"
#include "plan/store/temporary_names.hpp"
#include "primitives/enum_names.hpp"
#include "primitives/views.hpp"

namespace sheaf::cli {
namespace {

/// What launchers leave in the environment of the processes that they start.
struct launcher {
  const char* shared_object;
  const char* size;
  const char* rank;
  const char* local_size;
  const char* also;  ///< what has to be set beside these; null: nothing
};
constexpr launcher launchers[] = {
    {"libsheaf_openmpi.so." SHEAF_SOVERSION, "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK",
     "OMPI_COMM_WORLD_LOCAL_SIZE", nullptr},
    {"libsheaf_mpich.so." SHEAF_SOVERSION, "PMI_SIZE", "PMI_RANK", "MPI_LOCALNRANKS", nullptr},
    // srun --mpi=pmix, which Open MPI's programs are started by.
    {"libsheaf_openmpi.so." SHEAF_SOVERSION, "SLURM_STEP_NUM_TASKS", "PMIX_RANK", "SLURM_NTASKS_PER_NODE", "PMIX_RANK"},
};

int number_in(const char* variable) {
  const char* const text = std::getenv(variable);
  if (text == nullptr) return 0;
  const auto number = primitives::parse_number(text);
  return number && *number <= 1'000'000 ? static_cast<int>(*number) : 0;
}

const launcher* launcher_here() {
  for (const launcher& l : launchers) {
    if (number_in(l.size) > 1 && (l.also == nullptr || std::getenv(l.also) != nullptr)) return &l;
  }
  return nullptr;
}

/// Whether this process has come to work_on_ranks().
bool has_joined = false;

/// The shared object of the MPI that has started this process, beside the installed or built command, or where the
/// system's loader looks.
const distributed::mpi_process& load(const launcher& of) {
  std::error_code none;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", none);
  const std::filesystem::path prefix = program.parent_path().parent_path();
  std::string reason;
  for (const std::string& name :
       {(prefix / "lib" / of.shared_object).string(), (prefix / SHEAF_LIBRARY_FOLDER / of.shared_object).string(),
        std::string(of.shared_object)}) {
    // Open MPI's components look for its symbols among all.
    void* const library = dlopen(name.c_str(), RTLD_NOW | RTLD_GLOBAL);
    if (library == nullptr) {
      reason = dlerror();
      continue;
    }
    const void* const found = dlsym(library, distributed::mpi_process_symbol);
    if (found != nullptr) return *static_cast<const distributed::mpi_process*>(found);
  }
  throw error(
      error_code::backend_unavailable,
      fmt::format("started as one of several processes, but {} cannot be loaded: {}", of.shared_object, reason));
}

/// A rank has its share of the processors that it may run on, unless somebody says otherwise.
int threads_of_rank(const common_options& common, const launcher& of) {
  if (common.threads != 0) return common.threads;
  for (const char* const variable : {"SHEAF_THREADS", "OMP_NUM_THREADS"}) {
    const char* const text = std::getenv(variable);
    if (text != nullptr && *text != '\0') return 0;
  }
  cpu_set_t processors;
  CPU_ZERO(&processors);
  const int all = sched_getaffinity(0, sizeof processors, &processors) == 0 ? CPU_COUNT(&processors) : 1;
  // A launcher that binds its processes has divided already.
  const bool is_bound = all < static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN));
  return std::max(1, is_bound ? all : all / std::max(1, number_in(of.local_size)));
}

struct ended {
  exit_code exit = exit_done;
  std::exception_ptr thrown;
  bool is_of_all = true;
  std::string message;
};

/// What is thrown while `work` runs, as this rank sees it.
template <class Work>
ended outcome(const std::optional<distributed::group>& ranks, Work work) {
  ended end;
  try {
    work();
    return end;
  } catch (const error& thrown) {
    end.exit = exit_code_of(thrown.code());
    end.message = thrown.what();
    end.thrown = std::current_exception();
  } catch (const std::exception& thrown) {
    end.exit = exit_internal;
    end.message = thrown.what();
    end.thrown = std::current_exception();
  }
  end.is_of_all = ranks && ranks->state().is_shared() && !ranks->state().is_lost();
  return end;
}

/// Refuses processes that a launcher has started with arguments of their own: they are no parts of one work.
void require_one_command_line(const distributed::group& ranks) {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  const std::string line{std::istreambuf_iterator<char>(file), {}};
  const std::string arguments = line.substr(std::min(line.find('\0'), line.size()));  // behind the program's path
  distributed::collective(ranks, [&](distributed::group_state& state, std::uint64_t) {
    const distributed::agreed_value values[] = {
        distributed::agreed_digest("the command line", distributed::fingerprint(arguments))};
    state.agree("processes of one MPI job share the work of one command", values, {}, [] {});
  });
}

}  // namespace

int started_ranks() {
  const launcher* const l = launcher_here();
  return l == nullptr ? 1 : number_in(l->size);
}

int started_rank() {
  const launcher* const l = launcher_here();
  return l == nullptr ? 0 : number_in(l->rank);
}

role_on_ranks role_of_subcommand(std::string_view name) {
  constexpr std::string_view dividing[] = {"gather", "multi-split", "npb-cg", "solve", "sort", "split", "spmv"};
  constexpr std::string_view printing[] = {"help", "machine", "plan", "version"};
  if (std::ranges::find(dividing, name) != std::end(dividing)) return role_on_ranks::divides;
  if (std::ranges::find(printing, name) != std::end(printing)) return role_on_ranks::prints;
  return role_on_ranks::refuses;
}

void refuse_on_ranks(std::span<const refused_option> options) {
  for (const refused_option& option : options) {
    if (!option.is_given) continue;
    primitives::refuse("{} is not for {}", option.name, started_ranks() > 1 ? "several processes of MPI" : "--devices");
  }
}

void refuse_on_ranks(const common_options& common) {
  require_options_of_devices(common);
  const refused_option options[] = {
      {"--backend", !common.devices && common.backend != "auto" && common.backend != "cpu"},
      {"--variant", !common.variant_name.empty()},
      {"--runs", common.runs != 0},
      {"--verify", common.verify},
      {"--memory", common.memory_limit.has_value()}};
  refuse_on_ranks(options);
}

void refuse_streams(std::initializer_list<std::string> paths) {
  for (const std::string& path : paths) {
    if (path.empty() || !io::names_stream(path)) continue;
    primitives::refuse("{} is a stream, of which {} cannot have parts", path,
                       started_ranks() > 1 ? "processes of MPI" : "GPUs");
  }
}

void agree_on_ranks(const distributed::group& ranks, const std::function<void()>& check) {
  std::exception_ptr own;
  const auto keep = [&] { own = std::current_exception(); };
  try {
    ranks.agree([&] {
      try {
        check();
      } catch (const CLI::Error& usage) {
        keep();
        throw error(error_code::bad_argument, usage.what());
      } catch (...) {
        keep();
        throw;
      }
    });
  } catch (const error&) {
    // The first rank that refuses is the one that is heard.
    if (ranks.rank() == 0 && own != nullptr && ranks.state().is_shared()) std::rethrow_exception(own);
    throw;
  }
}

void wait_for_index(const distributed::group& ranks, const std::string& path) {
  try {
    ranks.wait();
  } catch (const error& e) {
    if (e.code() != error_code::bad_index) throw;
    const std::string_view words = e.what();
    const auto colon = words.find(": ");  // ends the call's name
    throw error(e.code(), path + std::string(colon == words.npos ? ": " : words.substr(colon)));
  }
}

namespace {
void join_ranks(const common_options& common, const std::function<void()>& check,
                const std::function<void(const distributed::group&)>& work);
}

void tell_ranks(error_code code, const std::string& refusal) {
  if (has_joined || launcher_here() == nullptr) return;
  try {
    join_ranks(
        {}, [&] { throw error(code, refusal); }, [](const distributed::group&) {});
  } catch (const std::exception&) {
    // Nobody else can have joined where this one cannot.
  }
  if (started_rank() != 0) std::exit(exit_done);
}

bool is_divided(const common_options& common) {
  if (common.plans_only) {
    if (common.devices) primitives::refuse("--devices has no plan: plans are of one device");
    return false;
  }
  return started_ranks() > 1 || common.devices;
}

void work_on_ranks(const common_options& common, const rank_threads& threads, const call_sizes& sizes,
                   const std::function<void(const distributed::group&)>& work) {
  if (threads) return work_on_threads(threads, work);
  if (common.devices && started_ranks() == 1) {
    refuse_on_ranks(common);  // before there are contexts of GPUs
    return work_on_threads(threads_on_devices(common, sizes), work);
  }
  join_ranks(
      common, [] {},
      [&](const distributed::group& ranks) {
        require_one_command_line(ranks);
        work(ranks);
      });
}

namespace {

/// The context of a rank. Where the environment forbids one, `failure` says why, and the context is there for all ranks
/// to hear of it.
context context_of_rank(int threads, std::exception_ptr& failure) {
  try {
    return context::cpu(threads);
  } catch (...) {
    failure = std::current_exception();
  }
  for (const char* const variable : {"SHEAF_THREADS", "SHEAF_PROFILE", "SHEAF_VARIANT", "SHEAF_LEARN"})
    unsetenv(variable);
  return context::cpu(1);
}

/// @param check  throws what this process has refused before: the ranks' first call is to agree about it
void join_ranks(const common_options& common, const std::function<void()>& check,
                const std::function<void(const distributed::group&)>& work) {
  const launcher& here = *launcher_here();
  const distributed::mpi_process& mpi = load(here);
  has_joined = true;
  std::shared_ptr<distributed::transport> between = mpi.begin();
  if (between == nullptr) throw error(error_code::backend_unavailable, "MPI cannot be initialized");
  const int rank = between->rank();
  std::optional<distributed::group> ranks;
  const ended end = outcome(ranks, [&] {
    std::exception_ptr failure;
    ranks.emplace(context_of_rank(threads_of_rank(common, here), failure), std::move(between));
    agree_on_ranks(*ranks, [&] {
      if (failure != nullptr) std::rethrow_exception(failure);
      check();
    });
    work(*ranks);
    ranks->wait();
  });
  if (end.thrown != nullptr && !end.is_of_all) {
    // Others hear of it where they can; the launcher ends those that cannot.
    if (ranks) ranks->abandon(end.message.c_str());
    const std::string words =
        fmt::format("sheaf {}: process {}: {}\n", common.command_name, rank, shown_on(stderr, end.message));
    static_cast<void>(std::fwrite(words.data(), 1, words.size(), stderr));
    std::fflush(stderr);
    io::remove_temporaries();
    mpi.abort(end.exit);
    _exit(end.exit);
  }
  ranks.reset();
  between.reset();
  mpi.end();
  if (end.thrown == nullptr) return;
  if (rank == 0) std::rethrow_exception(end.thrown);
  // The first process says what it is and has the exit code. Open MPI's launcher would end it before that, if another
  // left with one. MPICH parts from its launcher at exit, from 4.2 on: without, that ends the first process, too.
  std::exit(exit_done);
}

}  // namespace
}  // namespace sheaf::cli
