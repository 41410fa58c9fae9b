// Every few seconds what the server says now takes the place of what is shown. The
// reader's place stays: scroll position, opened journals, focus, marked text.
(() => {
  const every = 2000;
  const live = document.querySelector("#live"), box = live.querySelector("input"), silent = document.querySelector("#silent");
  const main = () => document.querySelector("main");
  let heard = new Date();
  live.hidden = false;

  // Of the focused element: how to find it again.
  const focused = () => {
    const e = document.activeElement, held = e && e.closest("main [id]");
    return held && (e.id ? "#" + CSS.escape(held.id) : "#" + CSS.escape(held.id) + " summary");
  };

  const swap = (fresh, title) => {
    const focus = focused();
    for (const d of main().querySelectorAll("details[open]")) {
      const same = d.id && fresh.querySelector("#" + CSS.escape(d.id));
      if (same) same.open = true;
    }
    main().replaceWith(fresh);
    document.title = title;
    const e = focus && document.querySelector(focus);
    if (e) e.focus({ preventScroll: true });
  };

  const refresh = async () => {
    const marked = getSelection();
    if (!box.checked || document.hidden || !marked.isCollapsed && main().contains(marked.anchorNode)) return;
    try {
      const answer = await fetch(location.href, { cache: "no-store", signal: AbortSignal.timeout(10000) });
      const text = await answer.text();
      const page = new DOMParser().parseFromString(text, "text/html");
      const fresh = page.querySelector("main");
      if (!fresh) throw new Error(text.slice(0, 200) || answer.status);
      swap(document.adoptNode(fresh), page.title);
      heard = new Date();
      silent.hidden = true;
    } catch (e) {
      silent.textContent = `No answer since ${heard.toLocaleTimeString()}: ${e.message}`;
      silent.hidden = false;
    }
  };

  const again = () => setTimeout(async () => { await refresh(); again(); }, every);
  again();
})();
