// What pages do by themselves, where there is a script: they follow what they show. Everything works without it.
"use strict";
(() => {
  const main = () => document.getElementById("main");
  const live = main() && main().dataset.live;
  const bar = document.querySelector(".freshness");
  const line = document.querySelector("[data-freshness]");
  const pauseButton = document.querySelector("[data-pause]");
  const announce = (text) => { document.querySelector("[data-announce]").textContent = text; };

  // --- Keys: "/" goes to the filter, "g" and a letter to a page. Not while somebody types.
  const places = { o: "/", d: "/dead", m: "/messages", w: "/workers", s: "/schedules", f: "/workflows", a: "/audit" };
  let wentAt = 0;
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, textarea, select")) return;
    if (event.key === "/") {
      const field = document.querySelector("[data-filter]");
      if (field) { event.preventDefault(); field.focus(); field.select(); }
    } else if (event.key === "g") {
      wentAt = event.timeStamp;
    } else if (event.timeStamp - wentAt < 1000 && places[event.key]) {
      wentAt = 0;
      location.assign(places[event.key]);
    }
  });

  if (!live || !window.EventSource || !window.DOMParser) return;

  // --- State. A page is dirty when something has changed that it does not show yet.
  let source = null, isPaused = false, isDirty = false, isFetching = false, isLost = false, isRefused = false;
  let heardAt = Date.now(), shownAt = Date.now(), timer = null;
  const quietest = 250, slowest = 10000, deadAfter = 15000;
  let took = 0;

  const isConcerned = (names) => live === "*" || names.includes("*") || names.includes(live);

  // A list of choices is changed when another one is chosen than it came with: the first, where none is marked.
  const isChosenAnew = (list) =>
    list.selectedIndex !== Math.max(0, [...list.options].findIndex((option) => option.defaultSelected));

  // Whoever presses on something, selects text, types, has a list of choices open or is about to confirm an act is not to lose that.
  let pressedAt = 0;
  const isHeld = () => {
    // The end of a press is not always told, and one that lasts is no click.
    if (Date.now() - pressedAt < 2000) return true;
    const selection = document.getSelection();
    if (selection && !selection.isCollapsed && main().contains(selection.anchorNode)) return true;
    const active = document.activeElement;
    if (active && main().contains(active) && active.matches("textarea, select, input:not([type=checkbox])")) return true;
    if (main().querySelector("details[open] form")) return true;
    return [...main().querySelectorAll("input, textarea, select")].some((field) =>
      field.type === "checkbox" ? field.checked !== field.defaultChecked
        : field.tagName === "SELECT" ? isChosenAnew(field)
          : field.value !== field.defaultValue);
  };

  const show = () => {
    const seconds = Math.max(0, Math.round((Date.now() - shownAt) / 1000));
    bar.classList.toggle("lost", isLost || isRefused);
    line.textContent = isLost ? `⚠ Connection lost; as of ${seconds} s ago`
      : isRefused ? `⚠ The server gives no newer page; as of ${seconds} s ago`
      : isPaused ? `Paused; as of ${seconds} s ago` : seconds < 8 ? "Live" : `Live; as of ${seconds} s ago`;
  };

  const setLost = (lost) => {
    if (lost !== isLost) announce(lost ? "Connection lost." : "Connected again.");
    if (isLost && !lost && isDirty) soon();
    isLost = lost;
    show();
  };

  // --- An element that had the focus is found again by where it leads, what it is called, or its place.
  const nameOf = (element) => element && main().contains(element) && element !== main()
    ? { tag: element.tagName, id: element.id, href: element.getAttribute("href"), name: element.getAttribute("name"),
        label: element.getAttribute("aria-label"), text: element.textContent.trim().slice(0, 80),
        at: [...main().querySelectorAll(element.tagName)].indexOf(element) } : null;
  const find = (name) => {
    const all = [...main().querySelectorAll(name.tag)];
    return (name.id && document.getElementById(name.id))
      || all.find((element) => name.href ? element.getAttribute("href") === name.href
        : name.name ? element.getAttribute("name") === name.name
          : name.label ? element.getAttribute("aria-label") === name.label
            : element.textContent.trim().slice(0, 80) === name.text)
      || all[name.at];
  };

  const replace = (text) => {
    const fresh = new DOMParser().parseFromString(text, "text/html");
    const content = fresh.getElementById("main");
    if (!content || !content.dataset.live) return;
    const focused = nameOf(document.activeElement);
    const open = [...main().querySelectorAll("details[open][data-keep]")].map((element) => element.dataset.keep);
    const scrolled = [...main().querySelectorAll(".scroll, pre")].map((element) => [element.scrollLeft, element.scrollTop]);
    const [x, y] = [scrollX, scrollY];
    for (const element of content.querySelectorAll("details[data-keep]")) element.open = open.includes(element.dataset.keep);
    main().replaceChildren(...document.importNode(content, true).childNodes);
    [...main().querySelectorAll(".scroll, pre")].forEach((element, at) => {
      if (scrolled[at]) [element.scrollLeft, element.scrollTop] = scrolled[at];
    });
    if (focused) { const element = find(focused); if (element) element.focus({ preventScroll: true }); }
    scrollTo(x, y);
    const [clock, newClock] = [document.querySelector(".foot time"), fresh.querySelector(".foot time")];
    if (clock && newClock) clock.replaceWith(document.importNode(newClock, true));
    shownAt = Date.now();
  };

  const refresh = async () => {
    timer = null;
    if (!isDirty || isFetching || isPaused || document.hidden || isHeld()) return;
    let hasFailed = false;
    isFetching = true;
    isDirty = false;
    const beganAt = Date.now();
    try {
      // What an act has said is for the page that it leads to, so this request says what it is.
      const response = await fetch(location.href, {
        headers: { Accept: "text/html", "X-Penstock-Refresh": "1" }, credentials: "same-origin" });
      if (response.redirected && new URL(response.url).pathname === "/login") { location.assign(response.url); return; }
      isRefused = !response.ok;
      if (response.ok) {
        const text = await response.text();
        took = Date.now() - beganAt;
        // Somebody may have begun to type or to select meanwhile.
        if (isHeld() || isPaused) isDirty = true; else replace(text);
      } else {
        isDirty = hasFailed = true;
      }
    } catch (error) {
      isDirty = hasFailed = true;
      setLost(true);
    } finally {
      isFetching = false;
      // What came meanwhile is shown next. After a failure the line says when the server is back; one that refuses is asked again.
      if (isDirty && !hasFailed && !isHeld()) soon();
    }
    show();
  };
  // A page that costs much is asked for seldom: four times as long as it took is left to others.
  const soon = () => { if (!timer) timer = setTimeout(refresh, Math.min(Math.max(quietest, 4 * took), slowest)); };
  const touch = () => { isDirty = true; soon(); };

  // --- The line to the server. A browser has six for all tabs together, so a tab that nobody sees lets go of its own.
  const connect = () => {
    if (source || document.hidden) return;
    heardAt = Date.now();
    source = new EventSource("/events");
    // What has changed before the line was open, nobody has told.
    source.onopen = () => { heardAt = Date.now(); setLost(false); touch(); };
    source.addEventListener("change", (event) => {
      heardAt = Date.now();
      if (isConcerned(JSON.parse(event.data))) touch();
    });
    // Time alone changes a chart, and how far work has come no queue tells.
    source.addEventListener("tick", () => {
      heardAt = Date.now();
      setLost(false);
      if (live === "*" || main().querySelector(".chart, [data-ticks]")) touch();
    });
    source.onerror = () => {
      setLost(true);
      // One that the server has refused does not come back by itself. The page may still be had, or leads to the sign-in.
      if (source && source.readyState === EventSource.CLOSED) { disconnect(); touch(); }
    };
  };
  const disconnect = () => { if (source) { source.close(); source = null; } };

  document.addEventListener("visibilitychange", () => {
    if (document.hidden) disconnect(); else { connect(); touch(); }
  });
  addEventListener("pagehide", disconnect);
  document.addEventListener("selectionchange", () => { if (isDirty) soon(); });
  document.addEventListener("focusout", () => { if (isDirty) soon(); });
  document.addEventListener("pointerdown", () => { pressedAt = Date.now(); }, true);
  document.addEventListener("pointerup", () => { pressedAt = 0; if (isDirty) soon(); }, true);
  document.addEventListener("toggle", () => { if (isDirty) soon(); }, true);

  pauseButton.addEventListener("click", () => {
    isPaused = !isPaused;
    pauseButton.setAttribute("aria-pressed", String(isPaused));
    pauseButton.textContent = isPaused ? "Go on with updates" : "Pause updates";
    if (!isPaused) touch();
    show();
  });
  setInterval(() => {
    if (document.hidden) return;
    if (source && Date.now() - heardAt > deadAfter) { setLost(true); disconnect(); }
    if (!source) connect();
    if (isRefused && isDirty) soon();
    show();
  }, 2000);
  bar.hidden = false;
  connect();
  show();
})();
