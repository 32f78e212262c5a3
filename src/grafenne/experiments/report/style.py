"""The look of the page: light and dark, from a phone to a desk."""

from __future__ import annotations

STYLE = """
:root { color-scheme: light dark; --ink: #1d2430; --soft: #586270; --page: #ffffff;
  --card: #f2f4f7; --ours: #fdf1e7; --edge: #d8dde4; --good: #1b7340; --bad: #ad3b24;
  --link: #1f5fae;
  --line-0: #c8501a; --line-1: #1f6fc4; --line-2: #2b8a4b; --line-3: #8a4fbf;
  --line-4: #a87b00; --line-5: #0f8a94; --line-6: #c23a72; --line-7: #68717d; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e9ee; --soft: #9ea8b5; --page: #12161c;
  --card: #1c222b; --ours: #2b231c; --edge: #353e4a; --good: #62cb90; --bad: #f0917a;
  --link: #82b4f2;
  --line-0: #f5935c; --line-1: #6aaef5; --line-2: #63c784; --line-3: #c197ee;
  --line-4: #dfb648; --line-5: #4fc9d2; --line-6: #f283ab; --line-7: #a3adb9; } }
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; scroll-padding-top: .5rem; }
body { margin: 0 auto; padding: 1.1rem; max-width: 78rem; background: var(--page);
  color: var(--ink); font: 16px/1.55 system-ui, sans-serif; overflow-wrap: break-word; }
h1 { font-size: 1.7rem; line-height: 1.2; margin: .4rem 0 .8rem; }
h2 { font-size: 1.3rem; line-height: 1.25; margin: 2.8rem 0 .5rem; padding-top: .7rem;
  border-top: 1px solid var(--edge); }
h3 { font-size: 1.05rem; margin: 1.5rem 0 .5rem; }
p, ul { margin: .5rem 0; max-width: 48rem; } ul { padding-left: 1.3rem; }
a { color: var(--link); }
.soft, small { color: var(--soft); font-size: .88rem; }
.good { color: var(--good); } .bad { color: var(--bad); }
nav ul { display: flex; flex-wrap: wrap; gap: .2rem 1rem; padding: 0; list-style: none;
  max-width: none; font-size: .93rem; }
.cards { display: grid; grid-template-columns: repeat(auto-fit, minmax(9rem, 1fr)); gap: .6rem;
  margin: 1rem 0; }
.card { background: var(--card); border-radius: .6rem; padding: .7rem .9rem; font-size: .92rem;
  line-height: 1.4; }
.card b { display: block; font-size: 1.4rem; line-height: 1.3; }
.wide { overflow-x: auto; margin: .5rem 0; border: 1px solid var(--edge); border-radius: .5rem; }
.wide:focus-visible { outline: 2px solid var(--link); }
table { border-collapse: separate; border-spacing: 0; min-width: 100%; font-size: .9rem; }
th, td { text-align: left; padding: .35rem .6rem; border-bottom: 1px solid var(--edge);
  vertical-align: top; }
tbody tr:last-child > * { border-bottom: 0; }
th, td { white-space: nowrap; } td.long { white-space: normal; min-width: 15rem; }
th { color: var(--soft); font-weight: 600; }
.number { text-align: right; font-variant-numeric: tabular-nums; }
.cells th:first-child { position: sticky; left: 0; background: var(--page); z-index: 1;
  border-right: 1px solid var(--edge); }
@media (max-width: 40rem) { .cells th:first-child { white-space: normal; min-width: 6.8rem;
  max-width: 6.8rem; } }
.cells tbody th { color: var(--ink); font-weight: 400; }
.cells tr.ours > * { background: var(--ours); }
.cells tr.group > * { background: var(--card); color: var(--soft); font-size: .84rem;
  text-align: left; }
.cells .first { border-left: 1px solid var(--edge); }
.cells td.paper { color: var(--soft); }
.cells thead tr:first-child th { text-align: center; border-bottom: 0; padding-bottom: 0; }
.cells thead tr:first-child th:first-child { text-align: left; }
.best { font-weight: 700; } .best small { font-weight: 400; }
td.paper.best { color: var(--ink); }
.under { display: block; font-weight: 400; font-size: .78rem; color: var(--soft); }
.cells details > summary { list-style: none; cursor: pointer; }
.cells details > summary::-webkit-details-marker { display: none; }
.cells details[open] > summary { text-decoration: underline; text-underline-offset: .2em; }
.more { width: min(19rem, 70vw); margin: .4rem 0 .2rem auto; padding: .5rem .6rem;
  background: var(--card); border-radius: .4rem; text-align: left; white-space: normal;
  font-weight: 400; font-size: .82rem; }
.more code { display: block; margin-top: .3rem; user-select: all; -webkit-user-select: all;
  overflow-wrap: anywhere; background: var(--page); }
code { background: var(--card); padding: .1rem .3rem; border-radius: .3rem; font-size: .9em;
  overflow-wrap: anywhere; }
.fold { margin: .6rem 0; } .fold > summary { cursor: pointer; color: var(--link); }
.figures { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 22rem), 1fr));
  gap: 1rem 1.5rem; margin: .8rem 0; }
figure { margin: 0; min-width: 0; } figcaption { font-weight: 600; font-size: .93rem; }
figure > svg { display: block; width: 100%; height: auto; }
svg text { fill: var(--soft); font-size: 12.5px; font-family: system-ui, sans-serif; }
svg .middle { text-anchor: middle; } svg .end { text-anchor: end; }
.grid { stroke: var(--edge); stroke-width: 1; } .axis { stroke: var(--soft); stroke-width: 1; }
.line path { fill: none; stroke: var(--colour); stroke-width: 1.6; }
.line circle { fill: var(--colour); }
.line .spread { stroke-width: 1; opacity: .65; }
.line.strong path:first-child { stroke-width: 2.8; }
.line.dashed path:first-child { stroke-dasharray: 5 4; }
.line.dashed circle { fill: var(--page); stroke: var(--colour); stroke-width: 1.4; }
.legend { display: flex; flex-wrap: wrap; gap: .1rem .9rem; list-style: none; padding: 0;
  margin: .2rem 0 0; font-size: .84rem; }
.legend svg { width: 26px; height: 10px; margin-right: .3rem; vertical-align: middle; }
""" + "\n".join(f".line-{number} {{ --colour: var(--line-{number}); }}" for number in range(8))
