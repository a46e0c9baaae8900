"""The style of the pages: one column, light or dark as the reader's system is, on a phone and on paper as well."""

STYLE = """
:root{color-scheme:light;--ink:#1c2025;--soft:#59616b;--line:#dde1e6;--ground:#fff;--raised:#f6f7f9;--accent:#3a6795}
@media screen and (prefers-color-scheme:dark){
:root{color-scheme:dark;--ink:#e7e9ec;--soft:#a2abb5;--line:#343a42;--ground:#15181c;--raised:#1e2228;--accent:#8db6df}}
*{box-sizing:border-box}
html{-webkit-text-size-adjust:100%;text-size-adjust:100%}
body{margin:0;background:var(--ground);color:var(--ink);font:16px/1.55 system-ui,-apple-system,"Segoe UI",Roboto,sans-serif}
main{max-width:728px;margin:0 auto;padding:2.5rem 1.5rem 3rem}
h1{font-size:1.9rem;line-height:1.2;margin:0 0 .4rem;letter-spacing:-.015em;text-wrap:balance;overflow-wrap:anywhere}
h2{font-size:1.15rem;line-height:1.3;margin:0 0 .7rem}
p{margin:0 0 .8rem;overflow-wrap:anywhere}
.lead,figcaption,.note,footer{color:var(--soft)}
figcaption,.note,footer{font-size:.875rem}
section{margin-top:2.4rem;padding-top:1.6rem;border-top:1px solid var(--line)}
footer{margin-top:2.4rem;padding-top:1rem;border-top:1px solid var(--line)}
.figures{display:flex;flex-wrap:wrap;gap:.6rem 2.6rem;margin:0 0 1.4rem;align-items:flex-end;align-items:last baseline}
.figures div{margin:0}
.figures dt{color:var(--soft);font-size:.875rem}
.figures dd{margin:0;font-size:1.5rem;line-height:1.25;white-space:nowrap;font-variant-numeric:tabular-nums}
.figures .main dd{font-size:2.4rem;font-weight:650;letter-spacing:-.02em;color:var(--accent)}
figure{margin:0 0 1rem}
figure svg{display:block;max-width:100%;height:auto}
figcaption{margin-top:.5rem}
.narrow{display:none}
.scroll{overflow-x:auto;margin:0 0 .8rem}
table{border-collapse:collapse;font-size:.9rem;font-variant-numeric:tabular-nums}
th,td{padding:.32rem .8rem .32rem 0;text-align:left;vertical-align:top;border-bottom:1px solid var(--line)}
thead th{color:var(--soft);font-weight:500;vertical-align:bottom}
tbody th{font-weight:500}
.numbers th+th,.numbers td{text-align:right;padding:.32rem 0 .32rem 1.2rem}
.pairs{width:100%}
.pairs th{width:38%;color:var(--soft);font-weight:400}
.pairs td,.pairs th{overflow-wrap:anywhere}
.pairs .group{padding-top:.9rem;color:var(--ink);font-weight:600}
.confusion td,.confusion th{padding:.45rem .8rem;border:1px solid var(--line)}
.confusion thead td{border:0}
.confusion thead th+th{text-align:right}
.confusion thead th[colspan]{text-align:center}
.confusion th{max-width:11rem;overflow-wrap:anywhere}
.confusion td{text-align:right;min-width:4.6rem;print-color-adjust:exact;-webkit-print-color-adjust:exact}
.confusion small{display:block;font-size:.78rem;opacity:.85}
.confusion .hit{font-weight:650}
pre{margin:0 0 .9rem;padding:.8rem 1rem;background:var(--raised);border:1px solid var(--line);border-radius:6px;
font:.83rem/1.5 ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;white-space:pre-wrap;overflow-wrap:anywhere}
code{font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;font-size:.92em}
@media screen and (max-width:620px){
main{padding:1.4rem 1rem 2rem}
h1{font-size:1.5rem}
.wide{display:none}.narrow{display:block}
.figures{gap:.5rem 1.6rem}.figures dd{font-size:1.25rem}.figures .main{flex-basis:100%}.figures .main dd{font-size:2rem}
.confusion td,.confusion th{padding:.4rem .5rem}.confusion td{min-width:3.4rem}
}
@media print{
@page{margin:16mm}
body{font-size:10.5pt}
main{max-width:none;padding:0}
section{break-inside:avoid;margin-top:1.4rem;padding-top:1rem}
section.long{break-inside:auto}
h2{break-after:avoid}
tr,figure,pre{break-inside:avoid}
.scroll{overflow:visible}
}
"""
