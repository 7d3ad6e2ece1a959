#include <charconv>

#include "apps/sheaf/checks/list.hpp"
#include "apps/sheaf/files/arrays/numbers.hpp"
#include "apps/sheaf/files/failure.hpp"
#include "apps/sheaf/subcommands/movement.hpp"
#include "core/printable.hpp"
#include "lab/description/linked_list/problem.hpp"
#include "primitives/operators/scan_value.hpp"

// The subcommands rank and scan, which read linked lists from files.
namespace sheaf::cli {
namespace {

constexpr const char* rank_footer =
    "LIST has the number of the next node for each node: .npy or .npz of whole numbers, or raw with --index-type. A\n"
    "negative number, a number with all bits set (of 4 or 8 bytes), or the node's own number ends a list. The head\n"
    "of a list need not be given. The result has LIST's shape: how many nodes come before each node in its list.\n\n"
    "Example: the list 2, 0, 3, 1\n"
    "  python3 -c \"import numpy as np; np.save('list.npy', np.array([3, -1, 0, 1]))\"\n"
    "  sheaf rank list.npy -o ranks.npy --verify\n"
    "Many lists in one file\n"
    "  python3 -c \"import numpy as np; np.save('lists.npy', np.array([2, 3, -1, -1]))\"\n"
    "  sheaf rank lists.npy -o ranks.npy --lists many";

constexpr const char* scan_footer =
    "LIST has the number of the next node for each node: .npy or .npz of whole numbers, or raw with --index-type. A\n"
    "negative number, a number with all bits set (of 4 or 8 bytes), or the node's own number ends a list. The head\n"
    "of a list need not be given. VALUES has one number for each node: .npy or .npz of i4, u4, i8, u8, f4 or f8 in\n"
    "either byte order, or raw with --value-type. The result has VALUES' shape and type, in little-endian bytes. A\n"
    "node's result combines all values from the head of the list to the node, in the list's order. Sums and products\n"
    "of integers wrap around.\n\n"
    "Example: sums along the list 2, 0, 3, 1\n"
    "  python3 -c \"import numpy as np; np.save('list.npy', np.array([3, -1, 0, 1]))\"\n"
    "  python3 -c \"import numpy as np; np.save('values.npy', np.array([1.5, 2.5, 10, 4]))\"\n"
    "  sheaf scan list.npy values.npy --op add -o sums.npy --verify\n"
    "Only the values before each node, from 0 on\n"
    "  sheaf scan list.npy values.npy --op add --exclusive-from 0 -o sums.npy";

/// What both subcommands take.
struct list_command {
  common_options common;
  std::string list;
  std::string output;
  std::optional<index_type> index_kind;
  list_count lists = list_count::one;
  access_pattern pattern;

  void add_to(CLI::App& subcommand);
  void add_rest_to(CLI::App& subcommand);
};

struct rank_command : list_command {
  std::optional<index_type> rank_type;
};

struct scan_command : list_command {
  std::string values;
  std::optional<value_type> value_kind;
  scan_operator op = scan_operator::add;
  std::optional<std::string> exclusive_from;
};

/// Calls timed_runs(). The error of two heads where one list is expected says which option takes them.
template <class Work>
run_times timed_lists(const context& ctx, const list_command& command, const explanation& plan, Work work) {
  try {
    return timed_runs(ctx, command.list, command.common.runs, work, plan);
  } catch (const error& e) {
    const std::string_view words = e.what();
    if (e.code() != error_code::bad_index || !words.ends_with("two lists, where one is expected")) throw;
    throw error(e.code(), std::string(words) + "; --lists many takes any number");
  }
}

void list_command::add_to(CLI::App& subcommand) {
  add_input(subcommand, "LIST", list,
            "The next node of each node: .npy or .npz of whole numbers, or raw with --index-type")
      ->required();
}

void list_command::add_rest_to(CLI::App& subcommand) {
  add_output(subcommand, output)->required();
  subcommand
      .add_option_function<std::string>(
          "--lists", [this](const std::string& text) { lists = text == "many" ? list_count::many : list_count::one; },
          "How many lists the nodes make: one, where anything else is an error, or any number")
      ->check(CLI::IsMember({"one", "many"}))
      ->default_str("one");
  add_index_type(subcommand, index_kind, "Type of a raw LIST; .npy files know their own");
  add_pattern(subcommand, pattern,
              "What is known of the nodes' places, along the list: unknown, sequential, random, partitioned:STREAMS, "
              "clustered:NODES, strided:STEP");
  common.add_variant_to(subcommand, subcommand.get_name() == "rank" ? "list_rank" : "list_scan");
  common.add_runs_to(subcommand);
  common.add_to(subcommand, common_options::by_reference);
  common_options::add_temporary_to(subcommand);
  common.add_plan_to(subcommand);
}

primitives::problem_spec problem_of(const list_command& command, std::string_view primitive, index_span list) {
  primitives::problem_spec problem{
      .primitive = primitive, .index = list.type, .count = list.count, .access = command.pattern};
  problem.part<primitives::list_part>().lists = command.lists;
  return problem;
}

// The result, and copies of it, of the list and of values on a device.
io::held_memory hold_buffers(const context& ctx, const index_span list, std::uint64_t result_bytes,
                             std::uint64_t value_bytes) {
  const std::uint64_t all_bytes = bytes_of(list.count, bytes(list.type)) + value_bytes + result_bytes;
  return io::held_memory({{"the result", result_bytes}, {"copies on the device", bytes_on_device(ctx, all_bytes)}});
}

planned_call plan_of(const rank_command& command, const context& ctx, const index_span list, index_type type) {
  primitives::problem_spec problem = problem_of(command, "list_rank", list);
  problem.record_bytes = bytes(type);
  return planned_by_order(call_words_of(problem), command.pattern, [&command, &ctx, list, type](access_pattern order) {
    return explain_list_rank(ctx, {nullptr, list.count, list.type}, {nullptr, list.count, type},
                             {.lists = command.lists, .pattern = order, .variant = command.common.variant()});
  });
}

void run(const rank_command& command) {
  require_output(command.output, {command.list});
  const context ctx = command.common.make_context();
  const io::index_file list(command.list, command.index_kind, "--index-type", command.common.wanted());
  require_name_of_kind(command.output, command.list, !command.index_kind);
  const index_span successors = list.indices();
  const index_type type = index_type_for(command.rank_type, successors.count, "nodes", "--output-type ");
  const io::held_memory buffers = hold_buffers(ctx, successors, bytes_of(successors.count, bytes(type)), 0);
  command.common.limit_scratch(ctx);
  command.common.require_memory_to_verify(successors.count / 8);
  const planned_call planned = plan_of(command, ctx, successors, type);
  if (command.common.plans_only) {
    return print_plan(command.common, ctx, work_of("rank", planned, read_when_opened({command.list})));
  }
  command.common.require_scratch(planned.plan);

  const context_input context_list(ctx, successors.data, successors.count * bytes(successors.type));
  const index_span through(context_list.data(), successors.count, successors.type);
  const list_rank_options options{
      .lists = command.lists, .pattern = command.pattern, .variant = command.common.variant()};

  record_output out(command.output, command.index_kind ? "" : rows_header(descr_of(type), list.shape()),
                    successors.count, bytes(type));
  const context_output context_out(ctx, out);
  const run_times times = timed_lists(ctx, command, planned.plan, [&] {
    list_rank(ctx, through, {context_out.data(), successors.count, type}, options);
  });
  context_out.fetch();
  if (command.common.verify) {
    const index_span found(out.rows().data, successors.count, type);
    require_right(jobs::rank_mistake(successors, command.lists, found));
  }
  out.commit();
  print_report(command.common, command.output, ctx, planned.plan, successors.count, bytes(type), times);
}

std::optional<value_type> known_value_type(const io::npy_type& type) {
  const bool is_wide = type.item_bytes == 8;
  if (!is_wide && type.item_bytes != 4) return std::nullopt;
  switch (type.kind) {
    case 'i': return is_wide ? value_type::i64 : value_type::i32;
    case 'u': return is_wide ? value_type::u64 : value_type::u32;
    case 'f': return is_wide ? value_type::f64 : value_type::f32;
    default: return std::nullopt;
  }
}

value_type require_value_type(const io::record_file& file) {
  if (const auto type = known_value_type(file.type())) return *type;
  io::fail(
      file.path(),
      "descr is {}; values are '<i4', '<u4', '<i8', '<u8', '<f4' or '<f8', which numpy's astype makes of other numbers",
      core::printable(file.type().descr));
}

/// The values of a file, as numbers of this machine.
class value_file {
 public:
  /// @param what  reading::header leaves the data of all() null.
  value_file(const std::string& path, std::optional<value_type> raw, io::reading what)
      : file_(path, raw ? bytes(*raw) : 0, "--value-type"), type_(raw ? *raw : require_value_type(file_)) {
    values_ = {nullptr, file_.unmapped_rows(bytes(type_), file_.shape().size()).count, type_};
    if (what == io::reading::header) {
      const std::uint64_t copied_bytes = file_.has_native_numbers() ? 0 : bytes_of(values_.count, bytes(type_));
      held_ = io::held_memory(path + " as numbers of this machine", copied_bytes);
      return;
    }
    const const_records rows = file_.rows(bytes(type_), file_.shape().size());
    numbers_ = io::native_numbers(rows, file_.type());
    values_.data = numbers_.data();
  }

  const io::record_file& file() const noexcept { return file_; }
  const_values all() const noexcept { return values_; }

 private:
  io::record_file file_;
  value_type type_;
  const_values values_;
  io::held_memory held_;  ///< of a copy that a run would make
  io::native_numbers numbers_;
};

scalar parse_scalar(const std::string& text, value_type type) {
  std::optional<scalar> found;
  bool is_out_of_range = false;
  primitives::with_value(type, [&](auto number) {
    const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (end != text.data() + text.size()) return;
    if (problem == std::errc{}) found = scalar(number);
    is_out_of_range = problem == std::errc::result_out_of_range;
  });
  if (found) return *found;
  primitives::refuse("--exclusive-from: '{}' is {} of type {}", core::printable(text),
                     is_out_of_range ? "out of the range" : "not a number", name(type));
}

void require_operator(scan_operator op, value_type type, const std::string& path) {
  if (primitives::takes(op, type)) return;
  primitives::refuse("--op {} takes integers, but {} has values of type {}", text_of(op, primitives::scan_operators),
                     io::shown_input(path), name(type));
}

planned_call plan_of(const scan_command& command, const context& ctx, const index_span list, value_type type,
                     const std::optional<scalar>& exclusive_from) {
  primitives::problem_spec problem = problem_of(command, "list_scan", list);
  problem.record_bytes = bytes(type);
  problem.value = type;
  problem.part<primitives::list_part>().op = command.op;
  problem.part<primitives::list_part>().is_exclusive = exclusive_from.has_value();
  return planned_by_order(
      call_words_of(problem), command.pattern, [&command, &ctx, list, type, exclusive_from](access_pattern order) {
        list_scan_options options{.lists = command.lists, .pattern = order, .variant = command.common.variant()};
        options.exclusive_from = exclusive_from;
        return explain_list_scan(ctx, {nullptr, list.count, list.type}, const_values(nullptr, list.count, type),
                                 {nullptr, list.count, type}, command.op, options);
      });
}

void run(const scan_command& command) {
  require_output(command.output, {command.list, command.values});
  const context ctx = command.common.make_context();
  const io::index_file list(command.list, command.index_kind, "--index-type", command.common.wanted());
  const value_file values_in(command.values, command.value_kind, command.common.wanted());
  require_name_of_kind(command.output, command.values, values_in.file().is_npy());
  const index_span successors = list.indices();
  const const_values in = values_in.all();
  const std::uint64_t value_bytes = bytes(in.type);
  if (in.count != successors.count) {
    io::fail(command.values, "{} values, but {} has {} nodes", in.count, io::shown_input(command.list),
             successors.count);
  }
  require_operator(command.op, in.type, command.values);
  list_scan_options options{.lists = command.lists, .pattern = command.pattern, .variant = command.common.variant()};
  if (command.exclusive_from) options.exclusive_from = parse_scalar(*command.exclusive_from, in.type);
  const std::uint64_t result_bytes = bytes_of(in.count, value_bytes);
  const io::held_memory buffers = hold_buffers(ctx, successors, result_bytes, result_bytes);
  command.common.limit_scratch(ctx);
  command.common.require_memory_to_verify(successors.count / 8);
  const planned_call planned = plan_of(command, ctx, successors, in.type, options.exclusive_from);
  if (command.common.plans_only) {
    return print_plan(command.common, ctx, work_of("scan", planned, read_when_opened({command.list, command.values})));
  }
  command.common.require_scratch(planned.plan);

  const context_input context_list(ctx, successors.data, successors.count * bytes(successors.type));
  const context_input context_values(ctx, in.data, in.count * value_bytes);
  const index_span through(context_list.data(), successors.count, successors.type);
  const const_values from(context_values.data(), in.count, in.type);

  const io::record_file& like = values_in.file();
  record_output out(command.output,
                    like.is_npy() ? io::format_npy_header(io::native_type(like.type()), like.shape()) : "", in.count,
                    value_bytes);
  const context_output context_out(ctx, out);
  const run_times times = timed_lists(ctx, command, planned.plan, [&] {
    list_scan(ctx, through, from, {context_out.data(), in.count, in.type}, command.op, options);
  });
  context_out.fetch();
  if (command.common.verify) {
    const const_values found(out.rows().data, in.count, in.type);
    require_right(jobs::scan_mistake(successors, command.lists, in, found, command.op, options.exclusive_from));
  }
  out.commit();
  print_report(command.common, command.output, ctx, planned.plan, in.count, value_bytes, times);
}

std::vector<std::string> operator_names() {
  std::vector<std::string> names;
  for (const auto& op : primitives::scan_operators) names.emplace_back(op.text);
  return names;
}

}  // namespace

void add_rank(CLI::App& app) {
  const auto command = std::make_shared<rank_command>();
  CLI::App* subcommand = app.add_subcommand("rank", "Number the nodes of linked lists in list order");
  command->add_to(*subcommand);
  add_index_type(*subcommand, command->rank_type, "Type of the ranks; u32 unless there are too many nodes",
                 "--output-type");
  command->add_rest_to(*subcommand);
  subcommand->footer(rank_footer);
  subcommand->callback([command] { run(*command); });
}

void add_scan(CLI::App& app) {
  const auto command = std::make_shared<scan_command>();
  CLI::App* subcommand = app.add_subcommand("scan", "Combine the values of linked lists in list order");
  command->add_to(*subcommand);
  add_input(*subcommand, "VALUES", command->values,
            "One number for each node: .npy or .npz of i4, u4, i8, u8, f4 or f8, or raw with --value-type")
      ->required();
  subcommand
      ->add_option_function<std::string>(
          "--op",
          [command](const std::string& text) {
            command->op = primitives::value_of(text, primitives::scan_operators, "an operator");
          },
          "How two values are combined; and, or and xor are for integers")
      ->check(CLI::IsMember(operator_names()))
      ->default_str("add");
  subcommand
      ->add_option("--exclusive-from", command->exclusive_from,
                   "A node's result combines only the values before it, and the scan begins with this number")
      ->type_name("NUMBER");
  subcommand
      ->add_option_function<std::string>(
          "--value-type",
          [command](const std::string& text) { command->value_kind = primitives::parse_value_type(text); },
          "Type of raw VALUES; .npy files know their own")
      ->type_name("i32|u32|i64|u64|f32|f64");
  command->add_rest_to(*subcommand);
  subcommand->footer(scan_footer);
  subcommand->callback([command] { run(*command); });
}

}  // namespace sheaf::cli
