#include "buoy/text/jinja/parser.h"

#include <algorithm>
#include <array>

namespace buoy::jinja {
namespace {

constexpr Index kDeepestBlock = 50;

class StatementParser {
 public:
  StatementParser(TokenCursor& cursor) : cursor_(cursor), expressions_(cursor) {}

  // Statements up to the end, or up to a block whose name is in `enders` (left unread after `{%`).
  Block parse_block(const std::vector<std::string_view>& enders) {
    if (++nesting_ > kDeepestBlock)
      fail_at(cursor_.site(), "blocks are nested deeper than {}", kDeepestBlock);
    Block block;
    while (true) {
      if (cursor_.at(TokenKind::kEnd)) {
        if (enders.empty()) break;
        fail_at(cursor_.site(), "the template ends, expected {{% {} %}}", enders.back());
      }
      const Index line = cursor_.peek().line;
      if (cursor_.at(TokenKind::kText)) {
        block.push_back({.kind = StatementKind::kText, .line = line, .text = cursor_.next().text});
      } else if (cursor_.at(TokenKind::kOutputBegin)) {
        cursor_.next();
        block.push_back({.kind = StatementKind::kOutput, .line = line, .value = expressions_.parse_tuple()});
        cursor_.expect(TokenKind::kOutputEnd, "}}");
      } else {
        cursor_.expect(TokenKind::kBlockBegin, "{%");
        if (std::find(enders.begin(), enders.end(), cursor_.peek().text) != enders.end()) break;
        block.push_back(parse_statement());
      }
    }
    --nesting_;
    return block;
  }

 private:
  Statement parse_statement() {
    const Site site = cursor_.site();
    const std::string name = cursor_.expect_name("the name of a statement");
    if (name == "if") return parse_if(site.line);
    if (name == "for") return parse_for(site.line);
    if (name == "set") return parse_set(site.line);
    fail_at(site, "{{% {} %}} is not supported (supported: if, for, set)", name);
  }

  void end_tag() { cursor_.expect(TokenKind::kBlockEnd, "%}"); }

  Statement parse_if(Index line) {
    Statement statement{.kind = StatementKind::kIf, .line = line};
    ExpressionPtr condition = expressions_.parse_tuple();
    while (true) {
      end_tag();
      const bool is_else = condition == nullptr;
      Branch branch{.condition = std::move(condition), .body = {}};
      branch.body = is_else ? parse_block({"endif"}) : parse_block({"elif", "else", "endif"});
      statement.branches.push_back(std::move(branch));
      const std::string word = cursor_.next().text;
      if (word == "endif") break;
      condition = word == "elif" ? expressions_.parse_tuple() : nullptr;
    }
    end_tag();
    return statement;
  }

  Target parse_target() {
    Target target;
    const bool in_brackets = cursor_.take_operator("(");
    do {
      target.names.push_back(parse_target_name());
    } while (cursor_.take_operator(","));
    if (in_brackets) cursor_.expect_operator(")");
    return target;
  }

  std::string parse_target_name() {
    constexpr std::array<std::string_view, 7> kReserved = {"true",  "false", "none", "True",
                                                           "False", "None",  "loop"};
    const Site site = cursor_.site();
    std::string name = cursor_.expect_name("the name of a variable");
    if (std::find(kReserved.begin(), kReserved.end(), name) != kReserved.end()) {
      fail_at(site, "cannot assign to {}", name);
    }
    return name;
  }

  Statement parse_for(Index line) {
    Statement statement{.kind = StatementKind::kFor, .line = line};
    statement.target = parse_target();
    if (!cursor_.take_name("in")) cursor_.unexpected("in");
    statement.value = expressions_.parse_no_condition();
    if (cursor_.at_operator(","))
      fail_at(cursor_.site(), "a for over a bare tuple is not supported: use brackets");
    if (cursor_.take_name("if")) statement.filter = expressions_.parse();
    if (cursor_.at_name("recursive")) fail_at(cursor_.site(), "a recursive for is not supported");
    end_tag();
    statement.body = parse_block({"else", "endfor"});
    if (cursor_.next().text == "else") {
      end_tag();
      statement.otherwise = parse_block({"endfor"});
      cursor_.next();
    }
    end_tag();
    return statement;
  }

  Statement parse_set(Index line) {
    Statement statement{.kind = StatementKind::kSet, .line = line};
    statement.target = parse_target();
    if (statement.target.names.size() == 1 && cursor_.take_operator(".")) {
      statement.target.field = cursor_.expect_name("the field of a namespace");
    }
    if (cursor_.take_operator("=")) {
      statement.value = expressions_.parse_tuple();
      end_tag();
      return statement;
    }
    if (cursor_.at_operator("|")) fail_at(cursor_.site(), "a filter on a block set is not supported");
    if (statement.target.names.size() > 1) cursor_.unexpected("=");
    end_tag();
    statement.body = parse_block({"endset"});
    cursor_.next();
    end_tag();
    return statement;
  }

  TokenCursor& cursor_;
  ExpressionParser expressions_;
  Index nesting_ = 0;
};

}  // namespace

Token TokenCursor::next() {
  Token token = peek();
  if (token.kind != TokenKind::kEnd) ++at_;
  return token;
}

bool TokenCursor::take_operator(std::string_view text) {
  if (!at_operator(text)) return false;
  next();
  return true;
}

bool TokenCursor::take_name(std::string_view text) {
  if (!at_name(text)) return false;
  next();
  return true;
}

void TokenCursor::expect_operator(std::string_view text) {
  if (!take_operator(text)) unexpected(text);
}

std::string TokenCursor::expect_name(std::string_view what) {
  if (!at(TokenKind::kName)) unexpected(what);
  return next().text;
}

void TokenCursor::expect(TokenKind kind, std::string_view what) {
  if (!at(kind)) unexpected(what);
  next();
}

void TokenCursor::unexpected(std::string_view expected) const {
  constexpr std::array<std::string_view, 11> kNames = {
      "text", "{{", "}}", "{%", "%}", "", "a string", "an integer", "a number", "an operator", "the end"};
  const Token& token = peek();
  const bool has_text = token.kind == TokenKind::kName || token.kind == TokenKind::kOperator;
  const std::string_view got =
      has_text ? std::string_view(token.text) : kNames[static_cast<std::size_t>(token.kind)];
  fail_at(site(), "got {}, expected {}", got, expected);
}

Block parse(std::string_view source, const std::string& place) {
  TokenCursor cursor(tokenize(source, place), place);
  return StatementParser(cursor).parse_block({});
}

}  // namespace buoy::jinja
