// Strings to compare tokenizers on: the same ones at every run.

// mulberry32: small, seeded, good enough to mix text.
export function random_source(seed) {
  let state = seed >>> 0;
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
  const below = (n) => Math.floor(next() * n);
  const pick = (list) => list[below(list.length)];
  const many = (low, high, make) => Array.from({ length: low + below(high - low + 1) }, make);
  return { next, below, pick, many };
}

const prose = {
  english: "The harbour lights don't reach the buoy, so we've marked it twice; it's where the tide turns, isn't it? I'LL SEE, she'd said, they're LATE.",
  spanish: "¿Dónde está la boya que perdió su ancla? El niño comió piñones mañana por la mañana, ¡qué extraño!",
  german: "Über den Fluß führt keine Brücke; größere Schiffe müssen außen herum, sagt der Lotse Jürgen Groß.",
  french: "L'été dernier, l'œuvre d'Hélène fut exposée à côté du phare ; c'était « très beau », n'est-ce pas ?",
  vietnamese: "Chiếc phao nổi trên mặt biển, người đánh cá kéo lưới vào buổi sáng sớm.",
  turkish: "İstanbul'da şişe içinde mektup bulundu, ığdır yolu üzerinde kaldı.",
  russian: "Буй качается на волнах, а смотритель маяка пишет письмо сестре. Ёжик! Щука, объём, подъезд.",
  ukrainian: "Їжак з'їв п'ять ґудзиків біля річки.",
  greek: "Ο φάρος φωτίζει τη θάλασσα· πού είναι το πλοίο; Ἐν ἀρχῇ ἦν ὁ λόγος.",
  arabic: "العوّامة تطفو على سطح البحر، وأين السفينة؟ كتبَ الطالبُ رسالةً طويلةً ١٢٣٤٥.",
  hebrew: "המצוף צף על פני המים, ואיפה הספינה? שָׁלוֹם עוֹלָם.",
  persian: "قایق‌ها در دریا شناورند و ماهی‌ها می‌خوابند.",
  hindi: "समुद्र पर एक बोया तैर रहा है, नाव कहाँ है? क्षत्रिय ज्ञान १२३ ड़ढ़.",
  bengali: "সমুদ্রে একটি বয়া ভাসছে, নৌকা কোথায়? ো ৌ",
  tamil: "கடலில் ஒரு மிதவை மிதக்கிறது; படகு எங்கே? கொடுத்தான்.",
  telugu: "సముద్రంలో ఒక తెప్ప తేలుతోంది.",
  thai: "ทุ่นลอยอยู่กลางทะเล เรืออยู่ที่ไหน น้ำ กำลังไหล",
  khmer: "ពោងអណ្ដែតលើសមុទ្រ។",
  chinese: "浮标在海面上漂浮，船在哪里？一九九七年七月一日。「你好，世界！」",
  japanese: "ブイが海に浮かんでいます。船はどこですか？ガギグゲゴ、パピプペポ、ﾊﾝｶｸ。",
  korean: "부표가 바다 위에 떠 있습니다. 배는 어디에 있나요? 값없는 닭.",
  georgian: "ტივტივა ზღვაზე ცურავს. სად არის გემი?",
  armenian: "Լողանը ծովի վրա է։",
  amharic: "ተንሳፋፊው በባህር ላይ ነው። መርከቡ የት ነው?",
  tibetan: "མཚོ་སྟེང་གི་གྲུ།",
};

const code = [
  "for (int i = 0; i < n; ++i) {\n\tsum += a[i]*b[i];\n}\n",
  "def f(x):\n    return x**2 if x else None\n\n\nclass A(B):\n        pass\n",
  "SELECT name, COUNT(*) FROM t WHERE id<>3 GROUP BY 1 -- note\n",
  "<div class=\"a b\" onclick='go()'>&nbsp;&#8212;</div>",
  "const s = `${a.b?.c ?? \"x\"}\\n`; // \\u00e9",
  "#include <vector>\r\nint main(){return 0;}\r\n",
  "{\"key\": [1, 2.5e-10, null, true], \"naïve\": \"\\\"\"}",
  "x=$(ls -la | grep '^d' | awk '{print $9}') && echo \"$x\" > /dev/null 2>&1",
  "\\begin{equation} \\alpha_{i,j} = \\frac{1}{N}\\sum_k e^{-x_k} \\end{equation}",
  "https://example.org/a/b?c=d&e=%20f#g mailto:a.b+c@d-e.co.uk",
];

const emoji = ["😀", "👩‍💻", "👨‍👩‍👧‍👦", "🏳️‍🌈", "🇩🇪", "🇫🇷🇯🇵", "👍🏽", "✌️", "❤️‍🔥", "☺︎", "🧑🏿‍🚀", "1️⃣", "#️⃣", "🀄", "⌚", "™️", "\u200d", "\ufe0f", "\u{1F3FB}", "\u{E0067}\u{E007F}"];
const marks = ["\u0301", "\u0323", "\u0308", "\u0327", "\u0304", "\u035c", "\u20dd", "\u3099", "\u0345", "\u0338", "\u05b8", "\u064b", "\u094d", "\u09be", "\u0bd7", "\u0dcf", "\u1161", "\u11a8", "\u1100\u1161\u11a8", "\u102e", "\u{1D165}", "\u0f71\u0f72"];
const bases = [..."aeiouAEOUnscCZзиуЙがカ가각하\u1100\u0915\u09c7\u0bc6\u0dd9\u1025=<≠Å\u212b\u2126\u00c7\u1e69\uf900\ufb1d\u0958\u2adc"];
const spaces = [" ", "  ", "   ", "\n", "\n\n", "\r\n", "\r", "\t", "\u00a0", "\u3000", "\u2003", "\u2028", "\u2029", "\u0085", "\u000b", "\u000c", "\u200b", "\ufeff", "\u180e", "\u202f", "\u1680", "\u001c", "\u001f"];
const marks_of_english = ["'s", "'S", "'t", "'re", "'RE", "'ve", "'m", "'ll", "'LL", "'d", "’s", "'x", "''", "' s"];
const specials = ["<|begin_of_text|>", "<|end_of_text|>", "<|eot_id|>", "<|start_header_id|>", "<|end_header_id|>", "<|endoftext|>", "<|im_start|>", "<|im_end|>", "<tool_call>", "</tool_call>", "<|fim_prefix|>", "<|file_sep|>", "<|reserved_special_token_7|>", "<|bos|>", "<|eos|>", "<|mdm_mask|>", "<|pad|>", "<|im_", "<|", "|>", "<|im_start|", "<tool_cal"];
// Assigned since Unicode 13 or earlier, so that every library agrees on what they are.
const blocks = [[0x20, 0x7e], [0xa0, 0x24f], [0x250, 0x2af], [0x370, 0x373], [0x391, 0x3a1], [0x400, 0x52f], [0x5d0, 0x5ea], [0x620, 0x64a], [0x660, 0x669], [0x904, 0x939], [0x966, 0x96f], [0xe01, 0xe30], [0x10d0, 0x10fa], [0x1e00, 0x1eff], [0x1f00, 0x1f07], [0x2010, 0x2027], [0x2030, 0x205e], [0x2070, 0x2071], [0x20a0, 0x20bf], [0x2100, 0x218b], [0x2190, 0x23ff], [0x2460, 0x27bf], [0x2c60, 0x2c7f], [0x3041, 0x3096], [0x30a1, 0x30ff], [0x3400, 0x4db5], [0x4e00, 0x9fef], [0xa000, 0xa48c], [0xac00, 0xd7a3], [0xe000, 0xf8ff], [0xf900, 0xfa6d], [0xfb00, 0xfb06], [0xfb50, 0xfbb1], [0xff01, 0xffbe], [0x10000, 0x1000b], [0x10330, 0x1034a], [0x12000, 0x12399], [0x1d400, 0x1d454], [0x1d7ce, 0x1d7ff], [0x1f300, 0x1f6d5], [0x20000, 0x2a6d6], [0x2f800, 0x2fa1d]];

export function make_strings(count, seed = 20261115) {
  const { below, pick, many, next } = random_source(seed);
  const languages = Object.values(prose);
  const words = languages.map((text) => text.split(" "));
  const point = () => { const [low, high] = pick(blocks); return String.fromCodePoint(low + below(high - low + 1)); };
  const control = () => String.fromCharCode(pick([below(32), 0x7f, 0x80 + below(32)]));
  const number = () => pick([() => String(below(10 ** (1 + below(9)))), () => (next() * 1000).toFixed(below(8)), () => "-" + below(1e6) + "e+" + below(99), () => "0x" + below(1e9).toString(16), () => `${below(30)}/${below(12)}/${1900 + below(200)}`, () => "1,234,567.89", () => "٣٤٥", () => "१२३४", () => "一二三", () => "½⅔²³①Ⅷ"])();
  const prose_piece = () => { const list = pick(words); const at = below(list.length); return list.slice(at, at + 1 + below(12)).join(pick([" ", " ", " ", "  ", ""])); };
  const cluster = () => pick(bases) + many(0, 4, () => pick(marks)).join("");
  const space = () => pick(spaces);
  const kinds = [
    () => prose_piece(),
    () => many(1, 4, prose_piece).join(pick([" ", ", ", ". ", "\n", "\n\n"])),
    () => pick(code).slice(below(20)),
    () => many(1, 6, number).join(pick([" ", ",", "", " + ", "\n"])),
    () => many(1, 6, () => pick(emoji)).join(pick(["", " ", "a"])),
    () => many(1, 8, cluster).join(pick(["", " "])),
    () => many(1, 5, () => pick([control, prose_piece])()).join(""),
    () => many(1, 4, () => pick(["\ufffd", "\ufffd\ufffd", prose_piece()])).join(""),
    () => many(1, 6, () => pick([space, space, () => pick(["a", "x1", "!", "é"])])()).join(""),
    () => pick([" ", "\n", "\t", "\r\n", " \n"]).repeat(1 + below(pick([4, 20, 200]))) + pick(["", "x", "\n", "."]),
    () => many(1, 5, () => pick([() => pick(specials), prose_piece, space])()).join(pick(["", " "])),
    () => many(1, 5, () => pick(["He", "they", "it", "É", "7", " "]) + pick(marks_of_english)).join(pick(["", " "])),
    () => many(1, 12, point).join(""),
    () => pick(["a", "aa", "ha", "!", "?!", "-", "=", "_", "0", "漢", "😀", "e\u0301", "\\", "(", "ÿ"]).repeat(1 + below(pick([5, 50, 400]))),
    () => pick(["\u00ad", "\u2060", "\u034f", "\u061c", "\u202e", "\u2066"]) + prose_piece() + pick(["\u200e", "\u200f", "\u2069", ""]),
    () => many(2, 6, () => pick(kinds.slice(0, 15))()).join(pick(["", " ", "\n"])),
  ];
  const strings = ["", " ", "\n", "a", "<|im_end|>"];
  for (const text of [...languages, ...code, ...emoji, ...spaces, ...specials]) strings.push(text);
  for (let i = 0; strings.length < count; ++i) strings.push(kinds[i % kinds.length]());
  // A few that are long.
  strings.push(languages.join("\n").repeat(20), code.join("\n").repeat(30), "z".repeat(5000), " ".repeat(5000) + "z");
  return strings;
}
