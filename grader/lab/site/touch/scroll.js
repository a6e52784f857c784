// What is wider than the screen takes the keyboard, so that arrow keys scroll it, and is marked as long as more is to come.
"use strict";
const marked = (one, scrolls = true) => one.classList.toggle("more", scrolls && one.scrollWidth - one.clientWidth - one.scrollLeft > 1);
const scrollers = () => {
  for (const one of document.querySelectorAll("main *")) {
    const scrolls = one.scrollWidth > one.clientWidth && /auto|scroll/.test(getComputedStyle(one).overflowX);
    if (scrolls) one.setAttribute("tabindex", 0);
    else if (one.classList.contains("scrolls")) one.removeAttribute("tabindex");
    one.classList.toggle("scrolls", scrolls);
    marked(one, scrolls);
  }
};
addEventListener("load", scrollers);
addEventListener("resize", scrollers);
addEventListener("scroll", ({ target }) => { if (target !== document) marked(target); }, { capture: true, passive: true });
