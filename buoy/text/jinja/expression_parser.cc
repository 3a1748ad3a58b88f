// Expressions, by the grammar and the precedence of Jinja2.
#include <algorithm>
#include <array>
#include <charconv>

#include "buoy/text/jinja/parser.h"

namespace buoy::jinja {
namespace {

constexpr Index kDeepestExpression = 200;

std::vector<ExpressionPtr> parts_of(ExpressionPtr a) {
  std::vector<ExpressionPtr> parts;
  parts.push_back(std::move(a));
  return parts;
}

std::vector<ExpressionPtr> parts_of(ExpressionPtr a, ExpressionPtr b) {
  std::vector<ExpressionPtr> parts = parts_of(std::move(a));
  parts.push_back(std::move(b));
  return parts;
}

Value parse_integer(const std::string& text, const Site& site) {
  std::int64_t value = 0;
  const auto result = std::from_chars(text.data(), text.data() + text.size(), value);
  if (result.ec != std::errc()) fail_at(site, "the number {} is too large", text);
  return value;
}

Value parse_real(const std::string& text, const Site& site) {
  double value = 0;
  const auto result = std::from_chars(text.data(), text.data() + text.size(), value);
  if (result.ec != std::errc()) fail_at(site, "the number {} is too large", text);
  return value;
}

}  // namespace

// Bounds the recursion of the parser itself.
struct ExpressionParser::Guard {
  explicit Guard(ExpressionParser& parser) : owner(parser) {
    if (++owner.nesting_ > kDeepestExpression)
      fail_at(owner.cursor_.site(), "an expression is nested deeper than {}", kDeepestExpression);
  }
  Guard(const Guard&) = delete;
  Guard& operator=(const Guard&) = delete;
  ~Guard() { --owner.nesting_; }
  ExpressionParser& owner;
};

ExpressionParser::Node ExpressionParser::make(ExpressionKind kind, Index line,
                                              std::vector<ExpressionPtr> parts, std::string name) {
  auto node = std::make_unique<Expression>();
  node->kind = kind;
  node->line = line;
  node->name = std::move(name);
  for (const ExpressionPtr& part : parts) deepen(*node, part);
  node->parts = std::move(parts);
  return node;
}

void ExpressionParser::deepen(Expression& node, const ExpressionPtr& part) const {
  if (part) node.depth = std::max(node.depth, part->depth + 1);
  if (node.depth > kDeepestExpression)
    fail_at(cursor_.site(), "an expression is nested deeper than {}", kDeepestExpression);
}

void ExpressionParser::attach(Expression& node, std::vector<Argument> arguments) const {
  for (const Argument& argument : arguments) deepen(node, argument.value);
  node.arguments = std::move(arguments);
}

ExpressionPtr ExpressionParser::parse() {
  const Guard guard(*this);
  const Index line = cursor_.peek().line;
  Node value = parse_or();
  if (!cursor_.take_name("if")) return value;
  ExpressionPtr condition = parse_or();
  ExpressionPtr otherwise = cursor_.take_name("else") ? parse() : nullptr;
  std::vector<ExpressionPtr> parts = parts_of(std::move(value), std::move(condition));
  parts.push_back(std::move(otherwise));
  return make(ExpressionKind::kConditional, line, std::move(parts));
}

ExpressionPtr ExpressionParser::parse_no_condition() {
  return parse_or();
}

ExpressionPtr ExpressionParser::parse_tuple() {
  const Index line = cursor_.peek().line;
  ExpressionPtr first = parse();
  if (!cursor_.at_operator(",")) return first;
  std::vector<ExpressionPtr> items = parts_of(std::move(first));
  while (cursor_.take_operator(",")) items.push_back(parse());
  return make(ExpressionKind::kList, line, std::move(items));
}

ExpressionParser::Node ExpressionParser::parse_or() {
  Node left = parse_and();
  while (cursor_.at_name("or")) {
    const Index line = cursor_.next().line;
    left = make(ExpressionKind::kOr, line, parts_of(std::move(left), parse_and()));
  }
  return left;
}

ExpressionParser::Node ExpressionParser::parse_and() {
  Node left = parse_not();
  while (cursor_.at_name("and")) {
    const Index line = cursor_.next().line;
    left = make(ExpressionKind::kAnd, line, parts_of(std::move(left), parse_not()));
  }
  return left;
}

ExpressionParser::Node ExpressionParser::parse_not() {
  const Guard guard(*this);
  if (!cursor_.at_name("not")) return parse_compare();
  const Index line = cursor_.next().line;
  return make(ExpressionKind::kNot, line, parts_of(parse_not()));
}

ExpressionParser::Node ExpressionParser::parse_compare() {
  constexpr std::array<std::string_view, 6> kComparisons = {"==", "!=", "<", ">", "<=", ">="};
  const auto comparison = [&]() -> std::string {
    if (cursor_.at_name("in")) return "in";
    if (cursor_.at_name("not") && cursor_.peek(1).kind == TokenKind::kName && cursor_.peek(1).text == "in") {
      return "not in";
    }
    for (const std::string_view text : kComparisons) {
      if (cursor_.at_operator(text)) return std::string(text);
    }
    return {};
  };
  Node left = parse_sum();
  const std::string name = comparison();
  if (name.empty()) return left;
  const Index line = cursor_.next().line;
  if (name == "not in") cursor_.next();
  left = make(ExpressionKind::kBinary, line, parts_of(std::move(left), parse_sum()), name);
  if (!comparison().empty()) fail_at(cursor_.site(), "a chain of comparisons is not supported");
  return left;
}

ExpressionParser::Node ExpressionParser::parse_sum() {
  Node left = parse_concatenation();
  while (cursor_.at_operator("+") || cursor_.at_operator("-")) {
    const Token sign = cursor_.next();
    left =
        make(ExpressionKind::kBinary, sign.line, parts_of(std::move(left), parse_concatenation()), sign.text);
  }
  return left;
}

ExpressionParser::Node ExpressionParser::parse_concatenation() {
  Node left = parse_product();
  while (cursor_.at_operator("~")) {
    const Index line = cursor_.next().line;
    left = make(ExpressionKind::kBinary, line, parts_of(std::move(left), parse_product()), "~");
  }
  return left;
}

ExpressionParser::Node ExpressionParser::parse_product() {
  Node left = parse_unary(true);
  while (cursor_.at_operator("*") || cursor_.at_operator("/") || cursor_.at_operator("//") ||
         cursor_.at_operator("%")) {
    const Token sign = cursor_.next();
    left = make(ExpressionKind::kBinary, sign.line, parts_of(std::move(left), parse_unary(true)), sign.text);
  }
  if (cursor_.at_operator("**")) fail_at(cursor_.site(), "the operator ** is not supported");
  return left;
}

ExpressionParser::Node ExpressionParser::parse_unary(bool with_filters) {
  const Guard guard(*this);
  const Index line = cursor_.peek().line;
  Node node;
  if (cursor_.take_operator("-")) {
    node = make(ExpressionKind::kNegative, line, parts_of(parse_unary(false)));
  } else if (cursor_.at_operator("+")) {
    fail_at(cursor_.site(), "the sign + is not supported");
  } else {
    node = parse_postfix(parse_primary());
  }
  return with_filters ? parse_filters(std::move(node)) : std::move(node);
}

ExpressionParser::Node ExpressionParser::parse_primary() {
  const Token token = cursor_.peek();
  const Site site = cursor_.site();
  Node literal = make(ExpressionKind::kLiteral, token.line, {});
  switch (token.kind) {
    case TokenKind::kInteger:
      literal->literal = parse_integer(token.text, site);
      break;
    case TokenKind::kReal:
      literal->literal = parse_real(token.text, site);
      break;
    case TokenKind::kString: {
      std::string text;
      while (cursor_.at(TokenKind::kString)) text += cursor_.next().text;
      literal->literal = std::move(text);
      return literal;
    }
    case TokenKind::kName:
      cursor_.next();
      if (token.text == "true" || token.text == "True")
        literal->literal = true;
      else if (token.text == "false" || token.text == "False")
        literal->literal = false;
      else if (token.text == "none" || token.text == "None")
        literal->literal = None{};
      else
        return make(ExpressionKind::kName, token.line, {}, token.text);
      return literal;
    case TokenKind::kOperator:
      if (token.text == "(") return parse_bracket_list(")");
      if (token.text == "[") return parse_bracket_list("]");
      if (token.text == "{") return parse_dict();
      [[fallthrough]];
    default:
      cursor_.unexpected("an expression");
  }
  cursor_.next();
  return literal;
}

// (a), (a, b), [a, b]. A trailing comma is allowed.
ExpressionParser::Node ExpressionParser::parse_bracket_list(std::string_view close) {
  const Guard guard(*this);
  const Index line = cursor_.next().line;
  std::vector<ExpressionPtr> items;
  bool has_comma = false;
  while (!cursor_.at_operator(close)) {
    items.push_back(parse());
    if (!cursor_.take_operator(",")) break;
    has_comma = true;
  }
  cursor_.expect_operator(close);
  if (close == ")" && !has_comma && items.size() == 1) return std::move(items.front());
  return make(ExpressionKind::kList, line, std::move(items));
}

ExpressionParser::Node ExpressionParser::parse_dict() {
  const Guard guard(*this);
  const Index line = cursor_.next().line;
  std::vector<ExpressionPtr> parts;
  while (!cursor_.at_operator("}")) {
    parts.push_back(parse());
    cursor_.expect_operator(":");
    parts.push_back(parse());
    if (!cursor_.take_operator(",")) break;
  }
  cursor_.expect_operator("}");
  return make(ExpressionKind::kDict, line, std::move(parts));
}

ExpressionParser::Node ExpressionParser::parse_postfix(Node node) {
  while (true) {
    const Index line = cursor_.peek().line;
    if (cursor_.take_operator(".")) {
      std::string name = cursor_.expect_name("a name after the dot");
      node = make(ExpressionKind::kAttribute, line, parts_of(std::move(node)), std::move(name));
    } else if (cursor_.take_operator("[")) {
      node = parse_subscript(std::move(node), line);
    } else if (cursor_.at_operator("(")) {
      if (node->kind != ExpressionKind::kName && node->kind != ExpressionKind::kAttribute) {
        fail_at(cursor_.site(), "a call of something without a name is not supported");
      }
      node = make(ExpressionKind::kCall, line, parts_of(std::move(node)));
      attach(*node, parse_arguments());
    } else {
      return node;
    }
  }
}

ExpressionParser::Node ExpressionParser::parse_subscript(Node object, Index line) {
  std::vector<ExpressionPtr> parts = parts_of(std::move(object));
  bool is_slice = false;
  const auto part_ends = [&] { return cursor_.at_operator(":") || cursor_.at_operator("]"); };
  parts.push_back(part_ends() ? nullptr : parse());
  while (parts.size() < 4 && cursor_.take_operator(":")) {
    is_slice = true;
    parts.push_back(part_ends() ? nullptr : parse());
  }
  if (!is_slice && parts[1] == nullptr) cursor_.unexpected("an index");
  cursor_.expect_operator("]");
  if (is_slice) parts.resize(4);
  return make(is_slice ? ExpressionKind::kSlice : ExpressionKind::kIndex, line, std::move(parts));
}

ExpressionParser::Node ExpressionParser::parse_filters(Node node) {
  while (true) {
    const Index line = cursor_.peek().line;
    if (cursor_.take_operator("|")) {
      std::string name = cursor_.expect_name("the name of a filter");
      node = make(ExpressionKind::kFilter, line, parts_of(std::move(node)), std::move(name));
      if (cursor_.at_operator("(")) attach(*node, parse_arguments());
    } else if (cursor_.take_name("is")) {
      node = parse_test(std::move(node), line);
    } else {
      return node;
    }
  }
}

// `x is name`, `x is not name`, `x is name(a)`, `x is name a`.
ExpressionParser::Node ExpressionParser::parse_test(Node operand, Index line) {
  const bool negated = cursor_.take_name("not");
  std::string name = cursor_.expect_name("the name of a test");
  Node test = make(ExpressionKind::kTest, line, parts_of(std::move(operand)), std::move(name));
  constexpr std::array<std::string_view, 6> kWords = {"else", "or", "and", "if", "is", "not"};
  const bool is_word = cursor_.at(TokenKind::kName) &&
                       std::find(kWords.begin(), kWords.end(), cursor_.peek().text) != kWords.end();
  const bool has_argument = cursor_.at(TokenKind::kString) || cursor_.at(TokenKind::kInteger) ||
                            cursor_.at(TokenKind::kReal) || cursor_.at_operator("[") ||
                            cursor_.at_operator("{") ||
                            (cursor_.at(TokenKind::kName) && !is_word && !cursor_.at_name("in"));
  if (cursor_.at_operator("(")) {
    attach(*test, parse_arguments());
  } else if (has_argument) {
    std::vector<Argument> arguments;
    arguments.push_back({"", parse_postfix(parse_primary())});
    attach(*test, std::move(arguments));
  }
  return negated ? make(ExpressionKind::kNot, line, parts_of(std::move(test))) : std::move(test);
}

std::vector<Argument> ExpressionParser::parse_arguments() {
  const Guard guard(*this);
  cursor_.expect_operator("(");
  std::vector<Argument> arguments;
  while (!cursor_.at_operator(")")) {
    if (cursor_.at_operator("*") || cursor_.at_operator("**")) {
      fail_at(cursor_.site(), "unpacking arguments with {} is not supported", cursor_.peek().text);
    }
    Argument argument;
    const Token& following = cursor_.peek(1);
    if (cursor_.at(TokenKind::kName) && following.kind == TokenKind::kOperator && following.text == "=") {
      argument.name = cursor_.next().text;
      cursor_.next();
    } else if (!arguments.empty() && !arguments.back().name.empty()) {
      fail_at(cursor_.site(), "a positional argument stands after a named one");
    }
    argument.value = parse();
    arguments.push_back(std::move(argument));
    if (!cursor_.take_operator(",")) break;
  }
  cursor_.expect_operator(")");
  return arguments;
}

}  // namespace buoy::jinja
