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
main.whole{max-width:1128px}
main.whole p,main.whole figcaption{max-width:76ch}
h3{font-size:1rem;line-height:1.35;margin:0 0 .6rem}
h4{font-size:.9rem;margin:0 0 .3rem;overflow-wrap:anywhere}
.part{margin-top:2rem}
a{color:var(--accent)}
:focus-visible{outline:2px solid var(--accent);outline-offset:2px;border-radius:3px}
#results:focus{outline:0}
.skip{position:absolute;left:-99rem;top:0;padding:.5rem 1rem;background:var(--ground)}
.skip:focus{left:0;z-index:3}
.unseen{position:absolute;width:1px;height:1px;margin:-1px;overflow:hidden;clip-path:inset(50%);white-space:nowrap}
nav ul,.legend{display:flex;flex-wrap:wrap;gap:.35rem 1.2rem;margin:0 0 1rem;padding:0;list-style:none;font-size:.9rem}
.said{margin:0 0 1rem;padding:0;list-style:none}
.said li{margin:0 0 .25rem;max-width:90ch}
.legend{gap:.4rem}
.legend li,.legend button{display:flex;align-items:center;gap:.4rem}
.legend li{margin-right:.6rem}
button,select{font:inherit;color:inherit;background:none;border:1px solid var(--line);border-radius:5px}
.legend button{padding:.15rem .6rem;min-height:1.9rem;cursor:pointer}
.legend button[aria-pressed=false]{color:var(--soft);text-decoration:line-through;border-style:dashed}
.legend button[aria-pressed=false] svg{opacity:.35}
.legend li:has(button){margin:0}
.off{display:none}
@media screen{.choice:has(>label) h4{display:none}}
.choice label{display:block;margin:0 0 .8rem;font-size:.9rem;color:var(--soft)}
.choice select{padding:.25rem .4rem;background:var(--ground);color:var(--ink)}
.panels{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(320px,100%),1fr));gap:1.2rem 1.5rem}
.panels.few{grid-template-columns:repeat(auto-fit,minmax(min(500px,100%),1fr))}
.panel-name{margin:0 0 .2rem;font-size:.9rem;font-weight:600}
.cards{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(340px,100%),1fr));gap:1.6rem 1.5rem;padding:.9rem 0 .4rem}
.cards>div{min-width:0}
.cards svg{display:block;max-width:100%;height:auto}
.cards .confusion{font-size:.78rem}
.cards .confusion td,.cards .confusion th{padding:.22rem .3rem}
.cards .confusion td{min-width:2rem}
.cards .confusion th{max-width:7rem;overflow-wrap:break-word}
details{border-bottom:1px solid var(--line)}
summary{padding:.5rem 0;cursor:pointer;font-size:.95rem}
details[open]>summary{font-weight:600}
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
caption>span{position:sticky;left:0;display:block;width:0}
caption>span>span{display:block;width:max-content;max-width:min(76ch,calc(100vw - 2rem))}
caption{padding:0 0 .4rem;text-align:left;color:var(--soft);font-size:.875rem;caption-side:top}
.numbers small{display:block;font-size:.88em;color:var(--soft);font-weight:400;white-space:nowrap}
.sortable td,.sortable tbody th{white-space:nowrap}
.sortable .words{text-align:left}
.sortable tbody th,.sortable thead th:first-child{position:sticky;left:0;z-index:1;background:var(--ground);padding-right:.8rem}
.sortable tbody tr:hover>*{background:var(--raised)}
.sortable thead button{position:relative;border:0;padding:.15rem 0;cursor:pointer;text-align:inherit;white-space:nowrap}
.sortable thead button::after{content:"↕";display:inline-block;width:1em;margin-left:.2em;opacity:.4;text-align:center}
.sortable thead th:not(.words) button::after{position:absolute;right:100%;margin:0 .1em 0 0}
.pm{display:inline-block;min-width:2.7em;margin-left:.35em;text-align:left}
.all{font-size:.82rem}
.numbers.all td,.numbers.all th+th{padding-left:1rem}
.best{font-weight:650}
.sortable th[aria-sort] button{color:var(--ink);font-weight:600}
.sortable th[aria-sort] button::after{opacity:1}
.sortable th[aria-sort=ascending] button::after{content:"↑"}
.sortable th[aria-sort=descending] button::after{content:"↓"}
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
.confusion small{white-space:nowrap;display:block;font-size:.78rem;opacity:.85}
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
@media (prefers-reduced-motion:no-preference){html{scroll-behavior:smooth}}
@media print{
@page{margin:14mm}
@page broad{size:A4 landscape;margin:12mm}
.broad{page:broad}
nav,.skip,.legend .every,.choice label{display:none}
main.whole{max-width:none}
.sortable{font-size:.72rem}
.sortable th,.sortable td{padding-left:.5rem}
.sortable tbody th,.sortable thead th:first-child{position:static}
.sortable thead button::after{content:none}
.panels{grid-template-columns:repeat(2,1fr)}
.panels.few{grid-template-columns:1fr}
.part,.panels>div,.cards>div{break-inside:avoid}
details::details-content{content-visibility:visible;block-size:auto}
main.whole section,main.whole .part{break-inside:auto}
body{font-size:10.5pt}
main{max-width:none;padding:0}
section{break-inside:avoid;margin-top:1.4rem;padding-top:1rem}
section.long{break-inside:auto}
h2{break-after:avoid}
tr,figure,pre{break-inside:avoid}
.scroll{overflow:visible}
}
"""
