// Marks in the contents beside the text which section is being read.
addEventListener("load", () => {
  const links = [...document.querySelectorAll("aside.toc a")];
  const headings = links.map((link) => document.getElementById(link.getAttribute("href").slice(1)));
  const mark = () => {
    const now = headings.findLastIndex((heading) => heading.getBoundingClientRect().top < innerHeight / 3);
    links.forEach((link, i) => { if (i === now) link.setAttribute("aria-current", "true"); else link.removeAttribute("aria-current"); });
  };
  addEventListener("scroll", mark, { passive: true });
  mark();
});
