// The style sheet and the one script of a report page.
#pragma once

#include <string_view>

namespace buoy {

inline constexpr std::string_view kPageStyle = R"css(
:root { color-scheme: light dark; --ink: #1f2430; --soft: #5b6270; --line: #e1e4ea; --paper: #fff; --tint: #f5f6f8;
  --link: #0b62a8; --mark: #d55e00;
  --sans: system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "Helvetica Neue", Arial, sans-serif;
  --mono: ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace; }
@media (prefers-color-scheme: dark) { :root { --ink: #e4e7ec; --soft: #a0a8b6; --line: #323946; --paper: #14171c;
  --tint: #1d2128; --link: #82bdf0; --mark: #f0904a; } }
* { box-sizing: border-box; }
html { scroll-behavior: smooth; scroll-padding-top: 4rem; -webkit-text-size-adjust: 100%; }
body { margin: 0; background: var(--paper); color: var(--ink); font: 1rem/1.6 var(--sans); overflow-wrap: break-word; }
a { color: var(--link); text-decoration-thickness: 1px; text-underline-offset: .18em; }
h1, h2 { line-height: 1.2; letter-spacing: -.015em; text-wrap: balance; margin: 0; }
h1 { font-size: clamp(1.7rem, 1.2rem + 2vw, 2.5rem); font-weight: 680; }
h2 { font-size: 1.4rem; font-weight: 650; }
header, main, footer { max-width: 58rem; margin: 0 auto; padding: 0 1.25rem; }
header { padding-top: clamp(2rem, 6vw, 4.5rem); }
.lead { font-size: 1.15rem; color: var(--soft); max-width: 44rem; margin: .8rem 0 0; white-space: pre-line; }
.facts { display: grid; grid-template-columns: repeat(auto-fill, minmax(11rem, 1fr)); gap: .9rem 1.5rem; margin: 2rem 0 0;
  padding: 1.1rem 0; border: solid var(--line); border-width: 1px 0; }
.facts dt { font-size: .78rem; color: var(--soft); }
.facts dd { margin: 0; font-variant-numeric: tabular-nums; }
nav { position: sticky; top: 0; z-index: 1; background: var(--paper); border-bottom: 1px solid var(--line);
  margin-top: 1.5rem; }
nav ol { display: flex; gap: 1.3rem; list-style: none; margin: 0 auto; padding: .6rem 1.25rem; max-width: 58rem;
  overflow-x: auto; white-space: nowrap; font-size: .88rem; scrollbar-width: none; }
nav a { color: var(--soft); text-decoration: none; }
nav a:hover { color: var(--link); }
section { padding-top: 2.8rem; }
section > p { max-width: 44rem; margin: .7rem 0 0; white-space: pre-line; }
figure { margin: 1.6rem 0 0; }
.card { background: #fff; border: 1px solid var(--line); border-radius: 8px; padding: .9rem; overflow-x: auto; }
.card img { display: block; height: auto; margin: 0 auto; width: 100%; }
figcaption, caption { font-size: .9rem; line-height: 1.5; color: var(--soft); text-align: left; }
figcaption { margin-top: .55rem; max-width: 48rem; white-space: pre-line; }
.files { white-space: nowrap; }
.files a { margin-right: .55em; font-size: .8rem; letter-spacing: .03em; }
.scroll { overflow-x: auto; margin-top: 1.6rem; }
table { border-collapse: collapse; min-width: 50%; font-size: .93rem; line-height: 1.4; }
caption { padding-bottom: .5rem; }
th, td { padding: .42rem .9rem .42rem 0; text-align: left; vertical-align: baseline; border-bottom: 1px solid var(--line); }
thead th { font-weight: 600; font-size: .84rem; border-bottom-color: var(--soft); vertical-align: bottom; }
tbody th { font-weight: 400; }
.n { text-align: right; font-variant-numeric: tabular-nums; padding-left: .9rem; white-space: nowrap; }
.name { white-space: nowrap; }
td.n + td:not(.n), th.n + th:not(.n) { padding-left: .9rem; }
th:last-child, td:last-child { padding-right: 0; }
abbr { text-decoration: underline dotted 1px; text-underline-offset: .22em; cursor: help; }
details { font-size: .87rem; color: var(--soft); margin-top: .5rem; }
summary { cursor: pointer; }
details dl { margin: .4rem 0 0; max-width: 48rem; }
details dt { font-weight: 600; color: var(--ink); }
details dd { margin: 0 0 .4rem; }
.note { border-left: 3px solid var(--mark); background: var(--tint); padding: .7rem 1rem; margin-top: 1.6rem;
  max-width: 48rem; border-radius: 0 6px 6px 0; white-space: pre-line; font-size: .95rem; }
.code { position: relative; margin-top: 1.2rem; background: var(--tint); border: 1px solid var(--line); border-radius: 6px; }
.code pre { margin: 0; padding: .8rem 4.8rem .8rem 1rem; overflow-x: auto; font: .85rem/1.55 var(--mono); tab-size: 4; }
.code button { position: absolute; top: .5rem; right: .5rem; font: .78rem var(--sans); color: var(--soft);
  background: var(--paper); border: 1px solid var(--line); border-radius: 5px; padding: .25rem .6rem; cursor: pointer; }
.code button:hover { color: var(--link); border-color: var(--link); }
footer { padding-top: 3.5rem; padding-bottom: 3rem; font-size: .83rem; color: var(--soft); }
@media (min-width: 78rem) {
  .page { display: grid; grid-template-columns: minmax(11rem, 1fr) minmax(0, 58rem) minmax(2rem, 1fr); }
  header { grid-column: 2; grid-row: 1; }
  main { grid-column: 2; grid-row: 2; }
  footer { grid-column: 2; grid-row: 3; }
  header, main, footer { width: 100%; }
  nav { grid-column: 1; grid-row: 1 / 4; border: 0; align-self: start; top: 0; max-height: 100vh; overflow-y: auto;
    margin-top: clamp(2rem, 6vw, 4.5rem); justify-self: end; width: 14rem; max-width: 100%; }
  nav ol { flex-direction: column; gap: .45rem; white-space: normal; padding: 1rem .5rem 1rem 1.25rem; line-height: 1.35; }
  html { scroll-padding-top: 1rem; }
}
@media print {
  :root { --ink: #000; --soft: #444; --line: #ccc; --paper: #fff; --tint: #f6f6f6; }
  body { font-size: 10pt; }
  nav, .files, .code button { display: none; }
  header, main, footer { max-width: none; padding-left: 0; padding-right: 0; }
  figure, tr, .note, .code { break-inside: avoid; }
  h2 { break-after: avoid; }
  .card { border: 0; padding: 0; }
  .card, .scroll { overflow: visible; }
  .code pre { white-space: pre-wrap; }
}
)css";

// Without the script the buttons stay hidden.
inline constexpr std::string_view kPageScript = R"js(
for (const button of document.querySelectorAll('.code button')) {
  const code = button.parentElement.querySelector('code');
  button.hidden = false;
  button.addEventListener('click', async () => {
    try {
      await navigator.clipboard.writeText(code.textContent);
      button.textContent = 'Copied';
    } catch {
      getSelection().selectAllChildren(code);
      button.textContent = 'Selected';
    }
    setTimeout(() => { button.textContent = 'Copy'; }, 1500);
  });
}
)js";

}  // namespace buoy
