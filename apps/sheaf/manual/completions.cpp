#include <algorithm>

#include <fmt/format.h>

#include "apps/sheaf/manual/page.hpp"

// Completions for bash, zsh and fish.
namespace sheaf::cli {
namespace {

bool takes_value(const page_option& option) { return !option.value.empty(); }

// Whether a value is the name of a file, or the beginning of one.
bool takes_path(const page_option& option) {
  const auto has = [&](std::string_view word) { return option.value.find(word) != option.value.npos; };
  return has("FILE") || has("PREFIX") || has("FOLDER") || has("BASE");
}

// "-o --output"
std::vector<std::string> names_of(const page_option& option) {
  if (option.short_name.empty()) return {option.name};
  return {option.short_name, option.name};
}

std::vector<std::string> all_names_of(const command_page& page) {
  std::vector<std::string> names;
  for (const page_option& option : page.options) {
    for (const std::string& name : names_of(option)) names.push_back(name);
  }
  return names;
}

std::vector<std::string> subcommand_names(const std::vector<command_page>& pages) {
  std::vector<std::string> names;
  for (std::size_t i = 1; i < pages.size(); ++i) names.push_back(pages[i].subcommand);
  return names;
}

// The words that stand for operands, if there are only some.
std::vector<std::string> operand_choices(const command_page& page) {
  return page.operands.empty() ? std::vector<std::string>{} : page.operands.front().choices;
}

// The first clause of a text, for lists of one line.
std::string short_text(const std::string& text) { return text.substr(0, std::min(text.find("; "), text.find(": "))); }

std::string replaced(std::string text, std::string_view from, std::string_view to) {
  for (std::size_t at = text.find(from); at != text.npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
  return text;
}

// Between single quotes.
std::string single_quoted(const std::string& text) { return "'" + replaced(text, "'", "'\\''") + "'"; }

// What _arguments of zsh takes for its own.
std::string zsh_text(std::string text) {
  text = replaced(std::move(text), "\\", "\\\\");
  for (const char* const c : {"[", "]", ":"}) text = replaced(std::move(text), c, std::string("\\") + c);
  return text;
}

std::string bash_values(const std::string& subcommand, const page_option& option) {
  if (!takes_value(option)) return {};
  std::string pattern;
  for (const std::string& name : names_of(option))
    pattern += fmt::format("{}{}:{}", pattern.empty() ? "" : "|", subcommand, name);
  if (!option.choices.empty())
    return fmt::format("    {}) _sheaf_words '{}'; return ;;\n", pattern, joined(option.choices));
  if (takes_path(option)) return fmt::format("    {}) return ;;\n", pattern);
  return fmt::format("    {}) compopt +o default +o bashdefault; return ;;\n", pattern);
}

std::string zsh_spec(const page_option& option) {
  const std::vector<std::string> names = names_of(option);
  std::string spec = option.repeats ? "'*'" : names.size() > 1 ? fmt::format("'({})'", joined(names)) : "";
  spec += names.size() > 1 ? fmt::format("{{{}}}", joined(names, ",")) : names.front();
  std::string rest = fmt::format("[{}]", zsh_text(short_text(option.text)));
  if (takes_value(option)) {
    const std::string action = !option.choices.empty() ? fmt::format("({})", joined(option.choices))
                               : takes_path(option)    ? "_files"
                                                       : "";
    rest += fmt::format(":{}:{}", zsh_text(option.value), action);
  }
  return spec + single_quoted(rest);
}

std::string fish_line(const std::string& condition, const page_option& option) {
  std::string line = fmt::format("complete -c sheaf -n '{}'", condition);
  if (!option.short_name.empty()) line += " -s " + option.short_name.substr(1);
  line += " -l " + option.name.substr(2);
  if (!option.choices.empty()) {
    line += fmt::format(" -x -a '{}'", joined(option.choices));
  } else if (takes_value(option)) {
    line += takes_path(option) ? " -r -F" : " -x";
  }
  return line + " -d " + single_quoted(short_text(option.text)) + "\n";
}

}  // namespace

std::string bash_completion(const std::vector<command_page>& pages) {
  std::string names;
  std::string values;
  for (const command_page& page : pages) {
    std::vector<std::string> words = all_names_of(page);
    if (page.subcommand.empty()) {
      for (const std::string& subcommand : subcommand_names(pages)) words.push_back(subcommand);
    }
    names += fmt::format("    '{}') names='{}' operands='{}' ;;\n", page.subcommand, joined(words),
                         joined(operand_choices(page)));
    for (const page_option& option : page.options) values += bash_values(page.subcommand, option);
  }
  return R"(# Completion of sheaf for bash, made by `sheaf generate bash` of the options of the command.

_sheaf_words() {
  mapfile -t COMPREPLY < <(compgen -W "$1" -- "$current")
}

_sheaf() {
  local current=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} subcommand='' names='' operands='' i
  COMPREPLY=()
  for ((i = 1; i < COMP_CWORD; i++)); do
    if [[ ${COMP_WORDS[i]} != -* && ${COMP_WORDS[i]} != = ]]; then
      subcommand=${COMP_WORDS[i]}
      break
    fi
  done
  # Behind plan --like SUBCOMMAND stand the arguments of SUBCOMMAND. Readline makes three words of --like=SUBCOMMAND.
  if [[ $subcommand == plan ]]; then
    for ((i++; i + 1 < COMP_CWORD; i++)); do
      [[ ${COMP_WORDS[i]} == --like ]] || continue
      [[ ${COMP_WORDS[i + 1]} != = ]] || ((++i))
      ((i + 1 >= COMP_CWORD)) || subcommand=${COMP_WORDS[i + 1]}
      break
    done
  fi
  # Of --name=value, too.
  if [[ $current == = ]]; then
    current=''
  elif [[ $before == = ]]; then
    before=${COMP_WORDS[COMP_CWORD - 2]}
  fi
  case $subcommand in
)" + names +
         R"(  esac
  case $subcommand:$before in
)" + values +
         R"(  esac
  if [[ -z $subcommand || $current == -* ]]; then
    _sheaf_words "$names"
  elif [[ -n $operands ]]; then
    _sheaf_words "$operands"
  fi
}

complete -o bashdefault -o default -o filenames -F _sheaf sheaf
)";
}

std::string zsh_completion(const std::vector<command_page>& pages) {
  std::string text = R"(#compdef sheaf
# Completion of sheaf for zsh, made by `sheaf generate zsh` of the options of the command.

_sheaf() {
  local curcontext=$curcontext state line
  local -a subcommands
  subcommands=(
)";
  for (std::size_t i = 1; i < pages.size(); ++i) {
    text += fmt::format("    {}\n",
                        single_quoted(pages[i].subcommand + ":" + replaced(short_text(pages[i].summary), ":", "\\:")));
  }
  text += "  )\n  _arguments -C \\\n";
  for (const page_option& option : pages.front().options) text += "    " + zsh_spec(option) + " \\\n";
  text += R"(    '1:subcommand:->subcommand' '*::argument:->argument'
  case $state in
    subcommand) _describe -t subcommands subcommand subcommands ;;
    argument)
      # Behind plan --like SUBCOMMAND stand the arguments of SUBCOMMAND.
      local subcommand=$line[1] like
      if [[ $subcommand == plan ]]; then
        like=${words[(i)(--like|--like=*)]}
        if [[ $words[like] == --like && like+1 -lt CURRENT ]]; then
          subcommand=$words[like+1]
          shift like words
          (( CURRENT -= like ))
        elif [[ $words[like] == --like=* && like -lt CURRENT ]]; then
          subcommand=${words[like]#--like=}
          shift like-1 words
          (( CURRENT -= like - 1 ))
        fi
      fi
      case $subcommand in
)";
  for (std::size_t i = 1; i < pages.size(); ++i) {
    text += fmt::format("        {})\n          _arguments \\\n", pages[i].subcommand);
    for (const page_option& option : pages[i].options) text += "            " + zsh_spec(option) + " \\\n";
    const std::vector<std::string> choices = operand_choices(pages[i]);
    text += choices.empty() ? "            '*:file:_files' ;;\n"
                            : fmt::format("            '1:word:({})' ;;\n", joined(choices));
  }
  return text + R"(      esac ;;
  esac
}

_sheaf "$@"
)";
}

std::string fish_completion(const std::vector<command_page>& pages) {
  std::string text = R"(# Completion of sheaf for fish, made by `sheaf generate fish` of the options of the command.

# Whether the arguments are those of this subcommand, also behind plan --like SUBCOMMAND.
function __sheaf_takes_arguments_of
    set -l subcommand
    set -l is_like 0
    for word in (commandline -opc)[2..-1]
        if test $is_like = 1
            set subcommand $word
            break
        else if test -z "$subcommand"
            string match -q -- '-*' $word; or set subcommand $word
        else if test $subcommand != plan
            break
        else if test $word = --like
            set is_like 1
        else if string match -q -- '--like=*' $word
            set subcommand (string replace -- --like= '' $word)
            break
        end
    end
    test "$subcommand" = $argv[1]
end

)";
  for (std::size_t i = 1; i < pages.size(); ++i) {
    text += fmt::format("complete -c sheaf -f -n __fish_use_subcommand -a {} -d {}\n", pages[i].subcommand,
                        single_quoted(short_text(pages[i].summary)));
  }
  for (const page_option& option : pages.front().options) text += fish_line("__fish_use_subcommand", option);
  for (std::size_t i = 1; i < pages.size(); ++i) {
    const std::string condition = "__sheaf_takes_arguments_of " + pages[i].subcommand;
    for (const page_option& option : pages[i].options) text += fish_line(condition, option);
    const std::vector<std::string> choices = operand_choices(pages[i]);
    if (!choices.empty()) {
      text += fmt::format("complete -c sheaf -f -n '{}' -a '{}'\n", condition, joined(choices));
    }
  }
  return text;
}

}  // namespace sheaf::cli
