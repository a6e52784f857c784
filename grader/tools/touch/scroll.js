// What is wider than the screen takes the keyboard, so that arrow keys scroll it, as long as there is more to see.
"use strict";
const scrollers = () => {
  for (const one of document.querySelectorAll("main *")) {
    if (!/auto|scroll/.test(getComputedStyle(one).overflowX)) continue;
    if (one.scrollWidth > one.clientWidth) one.setAttribute("tabindex", 0);
    else one.removeAttribute("tabindex");
  }
};
addEventListener("load", scrollers);
addEventListener("resize", scrollers);
