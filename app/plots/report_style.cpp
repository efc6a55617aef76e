#include "app/plots/report_style.h"

namespace cortado {
namespace {
/// Colours: of the page, of eight tones, of kinds of layers.
constexpr const char* light_colours =
    R"css(--page: #fff; --ink: #1c2430; --soft: #5b6675; --rule: #d9dee5; --grid: #e9edf2; --panel: #f6f8fa;
  --t0: #1f6fb4; --t1: #c2500f; --t2: #2b8a4b; --t3: #7b4fb5; --t4: #a8780a; --t5: #b8285f; --t6: #0f8a8a; --t7: #5b6675;
  --conv: #fbe3da; --full: #e9e0f5; --pool: #fdf0cf; --norm: #dff1e0; --data: #e8ebef; --loss: #fbdbe4; --other: #dcebf8; --line: #8793a3;)css";
constexpr const char* dark_colours =
    R"css(--page: #12171e; --ink: #e3e8ee; --soft: #9aa6b4; --rule: #333d49; --grid: #222b35; --panel: #1a212a;
  --t0: #66aee8; --t1: #f09455; --t2: #63c784; --t3: #b697ea; --t4: #dcb04b; --t5: #f07fa9; --t6: #4fc7c7; --t7: #9aa6b4;
  --conv: #4a2f26; --full: #3a2f52; --pool: #45391c; --norm: #24402b; --data: #2b333d; --loss: #4d2636; --other: #22384d; --line: #718093;)css";

constexpr const char* page_rules = R"css(
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 24px; max-width: 1360px; background: var(--page); color: var(--ink); font: 15px/1.45 system-ui, "DejaVu Sans", Arial, sans-serif; }
h1 { font-size: 24px; margin: 0 0 4px; } h2 { font-size: 18px; margin: 34px 0 10px; border-bottom: 1px solid var(--rule); padding-bottom: 4px; }
h3 { font-size: 15px; margin: 18px 0 6px; } p { margin: 4px 0; } .soft, figcaption span.note { color: var(--soft); }
table { border-collapse: collapse; font-size: 14px; } .wide { overflow-x: auto; }
th, td { text-align: left; padding: 4px 14px 4px 0; border-bottom: 1px solid var(--grid); vertical-align: top; } th { color: var(--soft); font-weight: 600; }
td.number, th.number { text-align: right; font-variant-numeric: tabular-nums; } td.text { overflow-wrap: anywhere; }
.charts { display: grid; grid-template-columns: repeat(auto-fit, minmax(430px, 1fr)); gap: 18px 26px; }
figure { margin: 0; break-inside: avoid; } figcaption { font-weight: 600; margin-bottom: 2px; } figcaption span.note { font-weight: 400; font-size: 13px; margin-left: 8px; }
.legend { font-size: 13px; color: var(--soft); margin: 0; padding: 0; list-style: none; display: flex; flex-wrap: wrap; gap: 2px 16px; }
.swatch { display: inline-block; width: 14px; height: 4px; border-radius: 2px; margin-right: 6px; vertical-align: middle; }
svg { display: block; width: 100%; height: auto; } svg.bars { max-width: 1120px; }
pre { background: var(--panel); border: 1px solid var(--rule); border-radius: 4px; padding: 10px; font: 12px/1.4 ui-monospace, "DejaVu Sans Mono", monospace; overflow-x: auto; max-height: 420px; white-space: pre-wrap; overflow-wrap: anywhere; }
details { margin: 6px 0; } summary { cursor: pointer; color: var(--soft); }
)css";

constexpr const char* print_rules = R"css(
@media print { body { padding: 0; max-width: none; font-size: 11px; }
  h1 { font-size: 20px; } h2 { font-size: 15px; margin-top: 20px; } table { font-size: 10.5px; } figcaption span.note, .legend { font-size: 10.5px; } .chart { overflow: visible; } .chart .tick { font-size: 14px; }
  .charts { grid-template-columns: 1fr 1fr; } pre { max-height: none; } details:not([open]) { display: none; } h2 { break-after: avoid; } @page { margin: 14mm; } }
)css";

constexpr const char* picture_rules = R"css(
svg text { font-family: system-ui, "DejaVu Sans", Arial, sans-serif; fill: var(--ink); }
.chart .grid { stroke: var(--grid); fill: none; } .chart .axis { stroke: var(--line); fill: none; } .tick { font-size: 11px; fill: var(--soft); }
.end { text-anchor: end; } .middle { text-anchor: middle; }
.line path { fill: none; stroke-width: 2; stroke-linejoin: round; } .line.faint path { stroke-width: 1; opacity: .3; } .line.marked path { stroke-dasharray: 5 3; stroke-width: 1.6; }
.hint { fill: transparent; } .hint:hover { fill: var(--grid); fill-opacity: .8; stroke: var(--soft); }
.net rect { stroke: var(--line); stroke-width: 1; } .net .name { font-size: 11.5px; font-weight: 600; } .net .small { font-size: 10px; } .net .dim { fill: var(--soft); } .net .count { text-anchor: end; }
.net .edge { fill: none; stroke: var(--line); stroke-width: 1.3; stroke-linejoin: round; } .net .tip { fill: var(--line); } .net .frozen rect { stroke-dasharray: 4 3; stroke-width: 2; }
.conv rect { fill: var(--conv); } .full rect { fill: var(--full); } .pool rect { fill: var(--pool); } .norm rect { fill: var(--norm); } .data rect { fill: var(--data); } .loss rect { fill: var(--loss); } .other rect { fill: var(--other); }
)css";

std::string tone_rules() {
  std::string rules;
  for (int i = 0; i < 8; ++i) {
    const std::string n = std::to_string(i), colour = "var(--t" + n + ")";
    rules += ".tone" + n + " path { stroke: " + colour + "; } .tone" + n + " circle, .key.tone" + n +
             " { fill: " + colour + "; } .swatch.tone" + n + " { background: " + colour + "; }\n";
  }
  return rules;
}

/// The rules with colours in place of their names.
std::string coloured(std::string rules, const std::string& colours) {
  for (std::size_t at = rules.find("var("); at != std::string::npos; at = rules.find("var(", at)) {
    const std::size_t end = rules.find(')', at);
    const std::string name = rules.substr(at + 4, end - at - 4) + ": ";
    const std::size_t found = colours.find(name) + name.size();
    rules.replace(at, end + 1 - at, colours.substr(found, colours.find(';', found) - found));
  }
  return rules;
}
}  // namespace

std::string report_style() {
  return std::string("\n:root { color-scheme: light; ") + light_colours +
         " }\n@media screen and (prefers-color-scheme: dark) { :root { color-scheme: dark; " + dark_colours + " } }\n" +
         page_rules + picture_rules + tone_rules() + print_rules;
}

std::string picture_style() {
  const std::string words =
      ".title { font-size: 15px; font-weight: 600; } .note { font-size: 12px; font-weight: 400; fill: var(--soft); } "
      ".entry { "
      "font-size: 12px; fill: var(--soft); }\n";
  return coloured(picture_rules + words + tone_rules(), light_colours);
}

}  // namespace cortado
