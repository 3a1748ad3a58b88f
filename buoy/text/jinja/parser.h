// Builds the syntax tree of a template.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "buoy/text/jinja/lexer.h"
#include "buoy/text/jinja/syntax.h"

namespace buoy::jinja {

// Throws Error "place line N: …" for bad syntax and for constructs outside the supported subset.
Block parse(std::string_view source, const std::string& place);

// A walk over the tokens of a template. Shared by the parser of statements and that of expressions.
class TokenCursor {
 public:
  TokenCursor(std::vector<Token> tokens, const std::string& place)
      : tokens_(std::move(tokens)), place_(place) {}

  const Token& peek(std::size_t ahead = 0) const {
    return tokens_[std::min(at_ + ahead, tokens_.size() - 1)];
  }
  Token next();
  bool at(TokenKind kind) const { return peek().kind == kind; }
  bool at_operator(std::string_view text) const { return at(TokenKind::kOperator) && peek().text == text; }
  bool at_name(std::string_view text) const { return at(TokenKind::kName) && peek().text == text; }
  bool take_operator(std::string_view text);
  bool take_name(std::string_view text);
  void expect_operator(std::string_view text);
  std::string expect_name(std::string_view what);
  void expect(TokenKind kind, std::string_view what);

  Site site() const { return {&place_, peek().line}; }
  [[noreturn]] void unexpected(std::string_view expected) const;

 private:
  std::vector<Token> tokens_;
  const std::string& place_;
  std::size_t at_ = 0;
};

class ExpressionParser {
 public:
  explicit ExpressionParser(TokenCursor& cursor) : cursor_(cursor) {}

  ExpressionPtr parse();               // a whole expression, `a if b else c` included
  ExpressionPtr parse_tuple();         // the same, or several with commas: a list
  ExpressionPtr parse_no_condition();  // without a trailing `if`, as in `for x in … if …`

 private:
  struct Guard;
  using Node = ExpressionPtr;

  Node make(ExpressionKind kind, Index line, std::vector<ExpressionPtr> parts, std::string name = {});
  Node parse_or();
  Node parse_and();
  Node parse_not();
  Node parse_compare();
  Node parse_sum();
  Node parse_concatenation();
  Node parse_product();
  Node parse_unary(bool with_filters);
  Node parse_primary();
  Node parse_bracket_list(std::string_view close);
  Node parse_dict();
  Node parse_postfix(Node node);
  Node parse_subscript(Node object, Index line);
  Node parse_filters(Node node);
  Node parse_test(Node operand, Index line);
  std::vector<Argument> parse_arguments();
  void attach(Expression& node, std::vector<Argument> arguments) const;
  void deepen(Expression& node, const ExpressionPtr& part) const;

  TokenCursor& cursor_;
  Index nesting_ = 0;
};

}  // namespace buoy::jinja
