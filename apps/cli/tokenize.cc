// buoy tokenize: text to token ids, ids to text, chat messages to the prompt.
#include <cstdio>
#include <iostream>
#include <iterator>
#include <limits>
#include <memory>
#include <string>
#include <utility>

#include "apps/cli/environment.h"
#include "apps/cli/verb.h"
#include "buoy/base/error.h"
#include "buoy/io/file.h"
#include "buoy/io/json.h"
#include "buoy/text/chat_template.h"
#include "buoy/text/tokenizer.h"
#include "buoy/text/utf8.h"

namespace buoy {
namespace {

struct TokenizeFlags {
  std::string model = "mini-mdm";
  std::string file;
  bool decode = false;
  bool chat = false;
  bool special = false;
  bool spans = false;
  bool strict = false;
  bool json = false;
  bool no_generation_prompt = false;
  std::optional<std::string> date;
};

// A flag that would change nothing is a mistake of the caller.
void check_combination(const TokenizeFlags& options) {
  if (options.decode && options.chat) fail_usage("--decode and --chat exclude each other");
  const auto no_effect = [](bool given, const char* flag, const char* with) {
    if (given) fail_usage("{} has no effect with {}", flag, with);
  };
  if (options.decode || options.chat) {
    const char* mode = options.decode ? "--decode" : "--chat";
    no_effect(options.spans, "--spans", mode);
    no_effect(options.strict, "--strict", mode);
    no_effect(!options.file.empty(), "--file", mode);
  }
  if (options.chat) no_effect(options.special, "--special", "--chat");
  if (options.no_generation_prompt && !options.chat) fail_usage("--no-generation-prompt needs --chat");
  if (options.date && !options.chat) fail_usage("--date needs --chat");
  if (options.json && !options.file.empty())
    fail_usage("--json has no effect with --file, which is one text");
}

void print(std::string_view text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size())
    fail("cannot write to standard output");
}

// Texts as they come in, with what was wrong with their UTF-8 counted or refused.
class TextGate {
 public:
  explicit TextGate(bool strict) : strict_(strict) {}

  // `place` names the text in messages: "line 3", or a file.
  std::string pass(std::string text, const std::string& place) {
    const std::optional<Index> broken = find_invalid_utf8(text);
    if (!broken) return text;
    if (strict_) fail("{}: byte {} is not valid UTF-8", place, *broken);
    RepairedText repaired = repair_utf8(text);
    replaced_ += repaired.replaced;
    return std::move(repaired.text);
  }

  void report() const {
    if (replaced_ == 0) return;
    print_warning(
        fmt::format("{} invalid UTF-8 sequence{} replaced by U+FFFD", replaced_, replaced_ == 1 ? "" : "s"));
  }

 private:
  bool strict_;
  Index replaced_ = 0;
};

void print_encoding(const Tokenizer& tokenizer, std::string_view text, const TokenizeFlags& options) {
  const SpecialTokens special = options.special ? SpecialTokens::kAdd : SpecialTokens::kNone;
  if (!options.spans) {
    print(Json(tokenizer.encode(text, special)).dump() + "\n");
    return;
  }
  const Encoding encoding = tokenizer.encode_with_spans(text, special);
  Json spans = Json::array();
  for (const TokenSpan& span : encoding.spans) spans.push_back(Json::array({span.begin, span.end}));
  print(Json{{"ids", encoding.ids}, {"spans", std::move(spans)}}.dump() + "\n");
}

std::string parse_text(const std::string& line, const std::string& place) {
  const Json value = parse_json(line, place);
  if (!value.is_string()) fail("{}: is {}, expected a JSON string", place, kind_of(value));
  return value.get<std::string>();
}

void encode(const Tokenizer& tokenizer, const TokenizeFlags& options) {
  TextGate gate(options.strict);
  if (!options.file.empty()) {
    print_encoding(tokenizer, gate.pass(read_file(options.file), options.file), options);
  } else {
    std::string line;
    for (Index number = 1; std::getline(std::cin, line); ++number) {
      const std::string place = fmt::format("line {}", number);
      std::string text = options.json ? parse_text(line, place) : gate.pass(std::move(line), place);
      print_encoding(tokenizer, text, options);
    }
  }
  gate.report();
}

std::vector<TokenId> parse_id_array(const std::string& line, const std::string& place) {
  const Json value = parse_json(line, place);
  if (!value.is_array()) fail("{}: is {}, expected an array of token ids", place, kind_of(value));
  std::vector<TokenId> ids;
  for (const Json& id : value) {
    if (!id.is_number_integer() || id < 0 || id > std::numeric_limits<TokenId>::max()) {
      fail("{}: holds {}, expected a token id", place, id.dump());
    }
    ids.push_back(id.get<TokenId>());
  }
  return ids;
}

void decode(const Tokenizer& tokenizer, const TokenizeFlags& options) {
  const SkipSpecial skip = options.special ? SkipSpecial::kKeep : SkipSpecial::kSkip;
  std::string line;
  for (Index number = 1; std::getline(std::cin, line); ++number) {
    const std::string text = tokenizer.decode(parse_id_array(line, fmt::format("line {}", number)), skip);
    print((options.json ? Json(text).dump() : text) + "\n");
  }
}

// The messages alone, or an object with "messages" and other variables of the template.
std::string render_chat(const ChatTemplate& chat, Json input, const TokenizeFlags& options,
                        const std::string& place) {
  ChatOptions chat_options;
  Json variables;
  if (input.is_object()) {
    if (!input.contains("messages")) fail("{}: the object has no \"messages\"", place);
    Json messages = std::move(input["messages"]);
    input.erase("messages");
    variables = std::exchange(input, std::move(messages));
    chat_options.variables = &variables;
  }
  const GenerationPrompt prompt =
      options.no_generation_prompt ? GenerationPrompt::kOmit : GenerationPrompt::kAdd;
  return chat.render(input, prompt, chat_options);
}

void chat(const std::filesystem::path& directory, const TokenizeFlags& options) {
  std::optional<ChatTemplate> chat = ChatTemplate::load(directory);
  if (!chat) fail("{}: has no chat template", directory.string());
  if (options.date) chat->set_date(*options.date);
  if (!options.json) {
    const std::string input(std::istreambuf_iterator<char>(std::cin), {});
    print(render_chat(*chat, parse_json(input, "standard input"), options, "standard input"));
    return;
  }
  std::string line;
  for (Index number = 1; std::getline(std::cin, line); ++number) {
    const std::string place = fmt::format("line {}", number);
    print(Json(render_chat(*chat, parse_json(line, place), options, place)).dump() + "\n");
  }
}

void tokenize_command(const TokenizeFlags& options) {
  check_combination(options);
  const std::filesystem::path directory = find_model(options.model, command_places()).directory;
  if (options.chat) return chat(directory, options);
  const Tokenizer tokenizer = Tokenizer::load(directory);
  if (options.decode) return decode(tokenizer, options);
  encode(tokenizer, options);
}

}  // namespace

void add_tokenize(Command& command) {
  auto options = std::make_shared<TokenizeFlags>();
  Verb verb = command.verb("tokenize", "Text to token ids, ids to text, chat messages to the prompt");
  verb.option("-m,--model", &options->model,
              "Directory with tokenizer files, or the name of a bundled model");
  verb.option("--file", &options->file,
              "Encode this file as one text, byte for byte, instead of lines of stdin");
  verb.flag("--decode", &options->decode, "Lines of stdin are JSON arrays of ids; write their texts");
  verb.flag(
      "--chat", &options->chat,
      "Stdin is the JSON messages, or an object with \"messages\" and other template variables; write the "
      "prompt, and nothing after it");
  verb.flag(
      "--special", &options->special,
      "Add the special tokens that the tokenizer's post-processor names; with --decode keep special tokens");
  verb.flag("--spans", &options->spans,
            "Write {\"ids\", \"spans\"}; a span is [begin, end) in code points of the text");
  verb.flag("--strict", &options->strict, "Refuse invalid UTF-8 instead of replacing it by U+FFFD");
  verb.flag(
      "--json", &options->json,
      "Texts are JSON strings, one a line, so that they may hold newlines; with --chat each line of stdin is "
      "one conversation");
  verb.flag("--no-generation-prompt", &options->no_generation_prompt,
            "With --chat: do not open the assistant's turn");
  verb.option(
      "--date", &options->date,
      fmt::format("With --chat: the day for templates that ask for it, or today; default {}", kDefaultDate));
  verb.footer(
      "Each line of stdin is one text; its ids are one line of JSON on stdout.\n\n"
      "Examples:\n"
      "  buoy tokenize --model models/mini-mdm < data/demo_prompt.txt\n"
      "  echo 'Where is Varn?' | buoy tokenize --special --spans\n"
      "  echo '[257, 300]' | buoy tokenize --decode\n"
      "  echo '[{\"role\": \"user\", \"content\": \"Hi\"}]' | buoy tokenize --chat --model "
      "/models/LLaDA-8B-Instruct\n");
  verb.runs([options] { tokenize_command(*options); });
}

}  // namespace buoy
