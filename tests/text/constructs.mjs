// Templates that together use every supported construct. `python`: the JavaScript reference does not know or does not
// follow Jinja2 here, so only Jinja2 itself is asked.
const list = [{ role: "user", n: 3, tags: ["a", "b"] }, { role: "assistant", n: 1, tags: [] }, { role: "user", n: 2, tags: ["c"] }];
const deep = { s: "text", i: 7, b: true, z: null, f: 2.5, l: [1, [2, 3], {}], o: { é: "ü\n\"\\", k: [] } };

const cases = [
  // output, literals, white space control
  ["text only", "Just text, { and } and {not a tag}\n"],
  ["last newline", "a\n\n"],
  ["literals", "{{ 'single' }}|{{ \"double\" }}|{{ 12 }}|{{ 3.25 }}|{{ 'a' 'b' }}|{{ 'q\\'q\\n\\t\\\\' }}"],
  ["comment", "a{# gone {{ x }} #}b\n{# alone #}\nc {#- strips -#} d"],
  ["strip both", "a  \n {%- if true -%} \n b \n {%- endif -%} \n c"],
  ["strip output", "a \n {{- ' x ' -}} \n b"],
  ["trim blocks", "{% if true %}\nline\n{% endif %}\nnext\n{{ 1 }}\nend"],
  ["lstrip blocks", "  {% if true %}\n    text\n  {% endif %}\n\t{# c #}\nx {% if true %} y{% endif %}"],
  ["block on one line", "{% if true %}  {% set a = 1 %}  {{ a }}{% endif %}"],
  ["plus signs", "  {%+ if true %}x{% endif +%}\ny", {}, "python"],
  ["windows lines", "a\r\n{% if true %}\r\nb\r\n{% endif %}\r\nc", {}, "python"],
  ["brackets before the end", "{{ {'a': {'b': 1}}['a']['b'] }}{{ {'x': 'y'}.x }}"],
  ["undefined is empty", "[{{ nothing }}][{{ m.nothing }}]", { m: {} }],
  // if
  ["if elif else", "{% for i in [0, 1, 2, 3] %}{% if i == 0 %}zero{% elif i == 1 %}one{% elif i == 2 %}two{% else %}many{% endif %},{% endfor %}"],
  ["truth", "{% for v in vs %}{% if v %}T{% else %}F{% endif %}{% endfor %}", { vs: [0, 1, "", "a", [], [0], {}, { a: 0 }, null, true, false, 0.5] }],
  ["conditional", "{{ 'a' if x else 'b' }}{{ 'c' if not x }}{{ 'd' if x else 'e' if x else 'f' }}", { x: 0 }],
  // for
  ["for", "{% for m in list %}{{ m.role }}:{{ m['n'] }};{% endfor %}", { list }],
  ["loop variables", "{% for m in list %}{{ loop.index }}{{ loop.index0 }}{{ loop.revindex }}{{ loop.revindex0 }}{{ loop.length }}{% if loop.first %}F{% endif %}{% if loop.last %}L{% endif %}{% if loop.previtem is defined %}<{{ loop.previtem.n }}{% endif %}{% if loop.nextitem is defined %}>{{ loop.nextitem.n }}{% endif %} {% endfor %}", { list }],
  ["for else", "{% for x in [] %}{{ x }}{% else %}none{% endfor %}{% for x in [1] %}{{ x }}{% else %}none{% endfor %}"],
  ["for if", "{% for m in list if m.role == 'user' %}{{ loop.index }}/{{ loop.length }} {{ m.n }} {% else %}no{% endfor %}", { list }],
  ["for if else", "{% for m in list if m.n > 9 %}x{% else %}no{% endfor %}", { list }],
  ["for pairs", "{% for k, v in d.items() %}{{ k }}={{ v }};{% endfor %}{% for k, v in d | items %}{{ k }}{% endfor %}", { d: { a: 1, b: "x" } }],
  ["for keys", "{% for k in d %}{{ k }};{% endfor %}", { d: { a: 1, b: 2 } }],
  ["for range", "{% for i in range(3) %}{{ i }}{% endfor %}{% for i in range(5, 0, -2) %}{{ i }}{% endfor %}{% for i in range(1, 4) %}{{ i }}{% endfor %}"],
  ["nested for", "{% for a in [1, 2] %}{% for b in [3, 4] %}{{ a }}{{ b }}{{ loop.index }},{% endfor %}{{ loop.index }};{% endfor %}"],
  ["for over undefined", "a{% for x in nothing %}b{% endfor %}c", {}, "python"],
  ["loop scope is per round", "{% for i in [1, 2] %}[{{ x }}]{% set x = i %}{% endfor %}", {}, "python"],
  // set
  ["set", "{% set a = 'x' %}{% set b = a + 'y' %}{{ a }}{{ b }}"],
  ["set stays in the loop", "{% set a = 1 %}{% for i in [1] %}{% set a = 2 %}{{ a }}{% endfor %}{{ a }}"],
  ["set block", "{% set a %}b{{ 1 + 1 }}{% endset %}<{{ a }}>"],
  ["set several", "{% set a, b = [1, 'z'] %}{{ b }}{{ a }}"],
  ["namespace", "{% set ns = namespace(found=false, text='') %}{% for m in list %}{% if m.n == 1 %}{% set ns.found = true %}{% endif %}{% set ns.text = ns.text + m.role %}{% endfor %}{{ 'yes' if ns.found else 'no' }} {{ ns.text }}", { list }],
  // operators
  ["sums", "{{ 1 + 2 }} {{ 7 - 10 }} {{ 3 * 4 }} {{ 7 // 2 }} {{ 7 % 3 }} {{ 1 + 2 * 3 }} {{ (1 + 2) * 3 }} {{ -3 + 1 }} {{ 7 / 2 }} {{ 1.5 + 1 }}"],
  ["negative remainders", "{{ -7 % 3 }} {{ -7 // 2 }} {{ 7 % -3 }}", {}, "python"],
  ["joining", "{{ 'a' ~ 1 ~ 'b' }}{{ 'x' + 'y' }}{{ ([1] + [2, 3]) | length }}"],
  ["comparisons", "{% for c in [1 == 1, 1 != 1, 1 < 2, 2 <= 1, 2 > 1, 1 >= 1, 'a' == 'a', none == none] %}{{ 1 if c else 0 }}{% endfor %}"],
  ["order of strings", "{{ 1 if 'a' < 'b' else 0 }}{{ 1 if 'a' >= 'ab' else 0 }}{{ 1 if 1 == '1' else 0 }}", {}, "python"],
  ["logic", "{{ 'y' if true and not false else 'n' }}{{ 'y' if false or not true else 'n' }}{{ 0 or 'd' }}{{ 'a' and 'b' }}{{ '' or 'e' }}{{ 'y' if not (1 == 2) and 1 in [1] else 'n' }}"],
  ["in", "{{ 1 if 'a' in 'cat' else 0 }}{{ 1 if 'x' not in 'cat' else 0 }}{{ 1 if 2 in [1, 2] else 0 }}{{ 1 if 'k' in d else 0 }}{{ 1 if 'z' not in d else 0 }}{{ 1 if not 3 in [1] else 0 }}", { d: { k: 1 } }],
  ["precedence of filters", "{{ 'a' + ' b ' | trim + 'c' }}{{ 3 - [1, 2] | length }}"],
  // indexing
  ["indexing", "{{ l[0] }}{{ l[-1] }}{{ d['k'] }}{{ d.k }}{{ l[1 + 1] }}[{{ l[9] }}]{{ s[0] }}{{ s[-1] }}{{ d[key] }}", { l: [1, 2, 3], d: { k: "v" }, s: "text", key: "k" }],
  ["slices", "{{ l[1:] | join(',') }} {{ l[:2] | join(',') }} {{ l[1:3] | join(',') }} {{ l[::2] | join(',') }} {{ l[::-1] | join(',') }} {{ l[-2:] | join(',') }} {{ l[5:] | length }} {{ l[:-1] | join(',') }} {{ s[1:3] }} {{ s[::-1] }} {{ l[3:0:-1] | join(',') }}", { l: [1, 2, 3, 4], s: "héllo" }],
  ["characters", "{{ s[1] }}{{ s | length }}", { s: "a😀b" }, "python"],
  ["missing fields", "{{ 1 if m.a is defined else 0 }}{{ 1 if m['a'] is defined else 0 }}{{ m.b.c is defined and 1 or 2 }}", { m: { b: {} } }],
  // tests
  ["tests", "{% for v in vs %}{{ 1 if v is string else 0 }}{{ 1 if v is mapping else 0 }}{{ 1 if v is none else 0 }}{{ 1 if v is boolean else 0 }}{{ 1 if v is integer else 0 }}{{ 1 if v is true else 0 }}{{ 1 if v is false else 0 }}{{ 1 if v is not none else 0 }},{% endfor %}", { vs: ["a", {}, null, true, false, 1, [1]] }],
  ["defined", "{{ 1 if x is defined else 0 }}{{ 1 if y is defined else 0 }}{{ 1 if y is undefined else 0 }}{{ 1 if y is not defined else 0 }}{{ 1 if strftime_now is defined else 0 }}", { x: null }],
  ["odd and even", "{% for i in range(4) %}{{ 1 if i is odd else 0 }}{{ 1 if i is even else 0 }}{% endfor %}"],
  ["sequence", "{{ 1 if 'a' is sequence else 0 }}{{ 1 if [1] is sequence else 0 }}{{ 1 if 1 is sequence else 0 }}{{ 1 if 'a' is iterable else 0 }}{{ 1 if [1] is iterable else 0 }}{{ 1 if 1 is number else 0 }}{{ 1 if 'a' is number else 0 }}"],
  ["tests with arguments", "{{ 1 if 9 is divisibleby 3 else 0 }}{{ 1 if 9 is divisibleby(2) else 0 }}{{ 1 if 1 is eq 1 else 0 }}{{ 1 if 'a' is equalto('a') else 0 }}{{ 1 if 1 is ne 2 else 0 }}{{ 1 if 1 is lt 2 else 0 }}{{ 1 if 1 is in [1] else 0 }}{{ 1 if 2 is gt(1) else 0 }}{{ 1 if 2 is ge 3 else 0 }}{{ 1 if 2 is le 3 else 0 }}{{ 1 if 1.5 is float else 0 }}{{ 1 if range is callable else 0 }}{{ 1 if {} is iterable else 0 }}{{ 1 if true is number else 0 }}", {}, "python"],
  // filters
  ["trim", "[{{ '  a b\\n ' | trim }}][{{ '\\t' | trim }}]"],
  ["trim characters", "[{{ 'xxaxx' | trim('x') }}]", {}, "python"],
  ["lengths", "{{ 'abc' | length }}{{ [1, 2] | length }}{{ {'a': 1} | length }}{{ list | count }}", { list: [] }, "python"],
  ["length", "{{ 'abc' | length }}{{ [1, 2] | length }}{{ {'a': 1} | length }}"],
  ["cases", "{{ 'aBc' | upper }}{{ 'aBc' | lower }}{{ 'abc' | capitalize }}{{ 'aBc'.upper() }}{{ 'aBc'.lower() }}{{ 'abc'.capitalize() }}"],
  ["capitalize lowers the rest", "{{ 'aBC' | capitalize }}", {}, "python"],
  ["join", "{{ ['a', 'b'] | join }}{{ ['a', 'b'] | join(', ') }}{{ [] | join('-') }}{{ [1, 'x'] | join('|') }}"],
  ["default", "{{ nothing | default('d') }}{{ x | default('d') }}{{ '' | default('d') }}{{ '' | default('d', true) }}{{ '' | default('e', boolean=true) }}", { x: "x" }],
  ["default by its short name", "{{ nothing | d('d') }}[{{ nothing | default }}]", {}, "python"],
  ["first and last", "{{ [1, 2, 3] | first }}{{ [1, 2, 3] | last }}{{ [3, 1] | reverse | join(',') }}{{ [1, 2] | list | length }}"],
  ["map", "{{ list | map(attribute='role') | join(',') }}{{ [{'a': 'x'}, {}] | map(attribute='a', default='-') | join }}", { list }],
  ["selectattr", "{{ list | selectattr('role', 'equalto', 'user') | map(attribute='n') | join(',') }} {{ list | rejectattr('role', 'equalto', 'user') | map(attribute='n') | join(',') }} {{ list | selectattr('tags') | list | length }} {{ list | selectattr('role', 'defined') | list | length }}", { list }],
  ["select", "{{ [1, 2, 3] | select('odd') | join(',') }} {{ ['a', 'b'] | reject('equalto', 'a') | join(',') }} {{ [0, 1] | select | join }} {{ [0, 1] | reject | join }}", {}, "python"],
  ["replace", "{{ 'aXbX' | replace('X', '-') }}{{ 'aXbX'.replace('X', '') }}{{ 'aXbX'.replace('X', '+', 1) }}"],
  ["numbers", "{{ '12' | int + 1 }}{{ -3 | abs }}{{ (-3) | abs }}{{ 4 | string + 'x' }}"],
  ["indent", "{{ 'a\\nb\\n\\nc' | indent }}|{{ 'a\\nb' | indent(2) }}|{{ 'a\\nb' | indent(width=1, first=true) }}"],
  ["safe", "{{ '<b>&' | safe }}{{ '<b>&' }}"],
  ["tojson", "{{ deep | tojson }}\n{{ [1, 'a', none, true] | tojson }}\n{{ 'é\"\\n' | tojson }}\n{{ {} | tojson }}{{ [] | tojson }}", { deep }],
  ["tojson indent", "{{ {'a': [1, 2], 'b': {'c': 'd'}} | tojson(indent=4) }}"],
  ["tojson options", "{{ {'b': 1, 'a': 'é'} | tojson(sort_keys=true) }}{{ {'b': 1, 'a': 'é'} | tojson(ensure_ascii=true) }}{{ {'b': 1, 'a': [2, 3]} | tojson(separators=(',', ':')) }}"],
  ["reals", "{{ v | tojson }}", { v: [0.1, 100.5, 12345.678] }],
  // methods
  ["strip", "[{{ ' a '.strip() }}][{{ ' a '.lstrip() }}][{{ ' a '.rstrip() }}]"],
  ["strip characters", "[{{ 'xay'.strip('xy') }}][{{ 'xay'.lstrip('x') }}][{{ 'xay'.rstrip('y') }}][{{ '..é..'.strip('.') }}]", {}, "python"],
  ["split", "{{ 'a,b,,c'.split(',') | join('|') }} {{ ' a  b '.split() | join('|') }} {{ 'a,b,c'.split(',', 1) | join('|') }} {{ 'a</think>b'.split('</think>')[-1] }} {{ 'a b'.split(' ')[0] }}"],
  ["starts and ends", "{{ 1 if 'abc'.startswith('ab') else 0 }}{{ 1 if 'abc'.endswith('ab') else 0 }}{{ 1 if 'abc'.endswith(('x', 'c')) else 0 }}"],
  ["dict methods", "{{ d.get('a') }}{{ d.get('x', 'none') }}{{ d.keys() | list | join(',') }}{{ d.values() | list | join(',') }}{{ d.items() | list | length }}", { d: { a: 1, b: 2 } }],
  ["calls in chains", "{{ ' A,b '.strip().lower().split(',')[1] }}{{ m.content.strip()[0] }}", { m: { content: " hi" } }],
  // functions
  ["strftime_now", "{{ strftime_now('%d %b %Y') }} {{ strftime_now('%Y-%m-%d') }} 100{{ strftime_now('%%') }}"],
  ["unicode", "{{ 'é😀' + s }}{{ s | length }}{{ 1 if '漢' in s else 0 }}", { s: "漢字" }],
];

// Templates that must be refused by buoy and by both references.
export const refusals = [
  ["raise_exception", "{{ raise_exception('no ' + 'way') }}", "no way"],
  ["unclosed if", "{% if true %}x", ""],
  ["unclosed tag", "a {{ x ", ""],
  ["two operators", "{{ 1 + * 2 }}", ""],
  ["unknown filter", "{{ 'a' | frobnicate }}", ""],
  ["unknown test", "{{ 1 if 'a' is frobnicated else 0 }}", ""],
  ["undefined field of undefined", "{{ nothing.field.deeper + 'x' }}", ""],
  ["adding undefined", "{{ 'a' + nothing.x.y }}", ""],
];

export const constructs = cases.map(([name, template, variables = {}, reference = "both"]) => ({ name, template, variables, reference }));
