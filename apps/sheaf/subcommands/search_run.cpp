#include "apps/sheaf/subcommands/search_run.hpp"

#include <sheaf/gather.hpp>

#include "apps/sheaf/checks/movement.hpp"
#include "apps/sheaf/checks/search.hpp"
#include "apps/sheaf/files/failure.hpp"
#include "apps/sheaf/subcommands/movement.hpp"

namespace sheaf::cli {
namespace {

/// Numbers of the outputs of a search for all matches; other searches have one.
constexpr std::size_t offsets_output = 0;
constexpr std::size_t ids_output = 1;
constexpr std::size_t records_output = 2;

/// Memory of a context as host memory: a copy, unless the host reaches it.
class host_view {
 public:
  host_view(const context& ctx, const void* from, std::uint64_t bytes) : data_(from) {
    if (ctx.backend() == backend_kind::cpu || bytes == 0) return;
    copy_ = buffer(context::cpu(1), bytes);
    copy_bytes(ctx, copy_.data(), from, bytes);
    data_ = copy_.data();
  }
  const void* data() const { return data_; }

 private:
  const void* data_;
  buffer copy_;
};

}  // namespace

void open_outputs(const search_command& o, std::uint64_t probes, const std::optional<io::record_file>& payload,
                  output_set& outputs) {
  constexpr std::uint64_t least_entry_bytes = 4;
  if (o.wants == wanted::counts) return outputs.open("counts.npy", probes * least_entry_bytes);
  if (o.wants == wanted::first) return outputs.open("ids.npy", probes * least_entry_bytes);
  outputs.open("offsets.npy", (probes + 1) * sizeof(std::uint64_t));
  outputs.open("ids.npy", 0);
  if (payload) outputs.open(payload->is_npy() ? "records.npy" : "records.bin", 0);
}

void search_run::gather_records(const io::record_file& file, index_span context_ids, index_span ids) const {
  const std::string& path = outputs->path(records_output);
  const const_records from = file.rows(primitives::most_record_bytes);
  std::uint64_t bytes = 0;
  if (__builtin_mul_overflow(ids.count, from.record_bytes, &bytes)) {
    io::throw_error(error_code::out_of_memory, "{}: {} records of {} bytes", path, ids.count, from.record_bytes);
  }
  const io::held_memory held({{"records of the payload", bytes},
                              {"copies of the payload", bytes_on_device(ctx, bytes_of(from.count, from.record_bytes)) +
                                                            bytes_on_device(ctx, bytes)}});
  command.common.limit_scratch(ctx);
  const std::string header = output_header(file, std::span(&ids.count, 1), file.row_shape());
  outputs->reserve(records_output, header.size() + bytes);
  const context_input context_from(ctx, from.data, from.count * from.record_bytes);
  const buffer gathered(ctx, bytes);
  gather(ctx, {context_from.data(), from.count, from.record_bytes}, context_ids,
         records{gathered.data(), ids.count, from.record_bytes}, {.variant = command.common.variant_of_backend()});
  ctx.wait();
  const host_view found(ctx, gathered.data(), bytes);
  if (command.common.verify) {
    const const_records rows(found.data(), ids.count, from.record_bytes);
    if (const auto record = jobs::first_gather_difference(from, ids, rows)) {
      throw verification_failed(fmt::format("record {} of {} is not that of the reference", *record, path));
    }
  }
  outputs->write(records_output, header, found.data(), bytes);
}

explanation search_run::plan() const {
  switch (command.wants) {
    case wanted::first: return explain_hash_find(ctx, index, probes, options());
    case wanted::counts:
      return explain_hash_count(ctx, index, probes, {nullptr, probes.count, index.id_type()}, options());
    case wanted::matches: break;
  }
  return explain_hash_search(ctx, index, probes, options());
}

void search_run::find_all(const std::optional<io::record_file>& payload) const {
  hash_matches found;
  report.times = timed_runs(
      ctx, command.table, command.common.runs, [&] { found = hash_search(ctx, index, probes, options()); },
      report.plan);
  report.matches = found.total;
  const std::uint64_t found_bytes =
      bytes_of(found.probes + 1, sizeof(std::uint64_t)) + bytes_of(found.total, bytes(found.id_type));
  const io::held_memory held(
      {{"the matches", found_bytes}, {"copies for the host", bytes_on_device(ctx, found_bytes)}});
  const std::string offsets_header = numbers_header("'<u8'", found.probes + 1);
  const std::string ids_header = numbers_header(descr_of(found.id_type), found.total);
  const std::uint64_t offset_bytes = (found.probes + 1) * sizeof(std::uint64_t);
  const std::uint64_t id_bytes = found.total * bytes(found.id_type);
  outputs->reserve(offsets_output, offsets_header.size() + offset_bytes);
  outputs->reserve(ids_output, ids_header.size() + id_bytes);
  const host_view offsets(ctx, found.offsets().data, offset_bytes);
  const host_view id_view(ctx, found.ids().data, id_bytes);
  const index_span ids(id_view.data(), found.total, found.id_type);
  if (command.common.verify) {
    const std::span all(static_cast<const std::uint64_t*>(offsets.data()), found.probes + 1);
    require_right(jobs::sorted_keys(table).search_mistake(keys.keys(), all, ids));
  }
  outputs->write(offsets_output, offsets_header, offsets.data(), offset_bytes);
  outputs->write(ids_output, ids_header, ids.data, id_bytes);
  if (payload) gather_records(*payload, found.ids(), ids);
}

void search_run::find_first() const {
  const index_type type = index.id_type();
  const buffer memory(ctx, probes.count * bytes(type));
  const auto find = [&] { hash_find(ctx, index, probes, {memory.data(), probes.count, type}, options()); };
  report.times = timed_runs(ctx, command.table, command.common.runs, find, report.plan);
  const host_view found(ctx, memory.data(), memory.size());
  const index_span ids(found.data(), probes.count, type);
  const auto is_none = [&](std::uint64_t i) {
    if (bytes(type) == 4) return static_cast<const std::uint32_t*>(ids.data)[i] == 0xffffffffU;
    return static_cast<const std::uint64_t*>(ids.data)[i] == ~std::uint64_t{0};
  };
  for (std::uint64_t i = 0; i < probes.count; ++i) report.matches += is_none(i) ? 0 : 1;
  if (command.common.verify) require_right(jobs::sorted_keys(table).find_mistake(keys.keys(), ids));
  outputs->write(0, rows_header(descr_of(type), keys.file().shape()), ids.data, probes.count * bytes(type));
}

void search_run::count() const {
  const index_type type = index.id_type();  // of which there are more than a key has records
  const buffer memory(ctx, probes.count * bytes(type));
  const auto count_all = [&] { hash_count(ctx, index, probes, {memory.data(), probes.count, type}, options()); };
  report.times = timed_runs(ctx, command.table, command.common.runs, count_all, report.plan);
  const host_view found(ctx, memory.data(), memory.size());
  const index_span counts(found.data(), probes.count, type);
  for (std::uint64_t i = 0; i < probes.count; ++i) {
    report.matches += bytes(type) == 4 ? static_cast<const std::uint32_t*>(counts.data)[i]
                                       : static_cast<const std::uint64_t*>(counts.data)[i];
  }
  if (command.common.verify) require_right(jobs::sorted_keys(table).count_mistake(keys.keys(), counts));
  outputs->write(0, rows_header(descr_of(type), keys.file().shape()), counts.data, probes.count * bytes(type));
}

}  // namespace sheaf::cli
