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
  document.querySelector(".keys").hidden = false;
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

  // --- An act is asked for once, however often its button is pressed until the answer is there. A page that is come back to asks anew.
  const sent = new Set();
  document.addEventListener("submit", (event) => {
    const form = event.target;
    if (form.method !== "post") return;
    if (sent.has(form)) { event.preventDefault(); return; }
    sent.add(form);
    for (const button of form.querySelectorAll("button")) button.setAttribute("aria-disabled", "true");
    // The answer may come into another tab, or the request be stopped: then the page stays, and asks anew after a while.
    setTimeout(() => forget(form), 10000);
  });
  const forget = (form) => {
    for (const button of form.querySelectorAll("button")) button.removeAttribute("aria-disabled");
    sent.delete(form);
  };
  addEventListener("pageshow", () => { for (const form of [...sent]) forget(form); });

  if (!live || !window.EventSource || !window.DOMParser) return;

  // --- State. A page is dirty when something has changed that it does not show yet.
  let source = null, isPaused = false, isDirty = false, isFetching = false, isLost = false, isRefused = false;
  let heardAt = Date.now(), shownAt = Date.now(), timer = null;
  const quietest = 250, slowest = 10000, deadAfter = 15000;
  // How long the last page took, and until when the server is asked for no line, as it has refused one.
  let took = 0, refusedUntil = 0;

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
    if (main().querySelector("details[open] form, form details[open]")) return true;
    // An act that is about to be pressed is not to become another one, nor to go elsewhere.
    if (main().querySelector("form[method=post] button:hover, form[method=post] button:focus, form[method=post] button[aria-disabled]")) return true;
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
      : isPaused ? `Paused; as of ${seconds} s ago`
      // Without news the page is as new as can be.
      : seconds < 8 || !isDirty ? "Live"
      : isHeld() ? `Waits for you; as of ${seconds} s ago` : `Live; as of ${seconds} s ago`;
  };

  // Ages grow by themselves, in the words of the server and by its clock.
  const units = [[86400, "d"], [3600, "h"], [60, "m"], [1, "s"]];
  const short = (seconds) => {
    const first = units.findIndex(([length]) => seconds >= length);
    let text = "", left = seconds;
    for (const [length, unit] of units.slice(first, first + 2)) {
      if (left >= length) text += Math.floor(left / length) + unit;
      left %= length;
    }
    return text;
  };
  const grow = () => {
    const clock = document.querySelector(".foot time");
    const selection = document.getSelection();
    if (!clock || isPaused || isLost || selection && !selection.isCollapsed) return;
    const now = Date.parse(clock.dateTime) + Date.now() - shownAt;
    for (const element of main().querySelectorAll("time[datetime]")) {
      const at = Date.parse(element.dateTime);
      if (Number.isNaN(at) || !/^(now|in .*|.* ago)$/.test(element.textContent)) continue;
      const seconds = Math.floor(Math.abs(now - at) / 1000);
      const text = now < at ? `in ${seconds < 1 ? "<1s" : short(seconds)}` : seconds < 1 ? "now" : `${short(seconds)} ago`;
      if (element.textContent !== text) element.textContent = text;
    }
  };

  const setLost = (lost) => {
    if (lost !== isLost) announce(lost ? "Connection lost." : "Connected again.");
    if (isLost && !lost && isDirty) soon();
    isLost = lost;
    show();
  };

  // --- An element that had the focus is found again: in the row that it was in, a link by where it leads, a button by what it
  // does and to what, anything else by its name. What is not there any more gives the focus to the page, and to nothing else.
  const rowOf = (element) => {
    const row = element.closest("tr");
    const head = row && row.querySelector("th[scope=row]");
    const link = head && head.querySelector("a");
    return row ? row.dataset.key || (link ? link.getAttribute("href") : head ? head.textContent.trim() : "") : null;
  };
  const actOf = (element) => {
    const form = element.closest("form");
    const details = element.closest("details");
    // How many messages an act is for, and which one stands for them, changes while it stays the same act.
    const fields = form && form.method === "post" ? [...form.querySelectorAll("input[type=hidden]")]
      .filter((field) => field.name !== "expected" && field.name !== "example").map((field) => field.value) : [];
    return JSON.stringify([form && form.getAttribute("action"), fields, details && details.dataset.keep]);
  };
  const nameOf = (element) => {
    if (!element || element === main() || !main().contains(element)) return null;
    const what = element.matches("button, summary") ? actOf(element)
      : element.getAttribute("href") || element.getAttribute("name") || element.getAttribute("aria-label")
        || element.textContent.trim().slice(0, 80);
    return { id: element.id, key: JSON.stringify([element.tagName, rowOf(element), what]) };
  };
  const alike = (key) => [...main().querySelectorAll("a, button, summary, input, select, textarea, [tabindex]")]
    .filter((element) => nameOf(element).key === key);

  const replace = (text) => {
    const fresh = new DOMParser().parseFromString(text, "text/html");
    const content = fresh.getElementById("main");
    if (!content) return;
    // It is followed no more, as for somebody who may look at nothing now: what stands here is not to stay.
    if (!content.dataset.live) { location.reload(); return; }
    const focused = nameOf(document.activeElement);
    const place = focused ? alike(focused.key).indexOf(document.activeElement) : 0;
    const open = [...main().querySelectorAll("details[open][data-keep]")].map((element) => element.dataset.keep);
    const scrolled = [...main().querySelectorAll(".scroll, pre")].map((element) => [element.scrollLeft, element.scrollTop]);
    const [x, y] = [scrollX, scrollY];
    for (const element of content.querySelectorAll("details[data-keep]")) element.open = open.includes(element.dataset.keep);
    main().replaceChildren(...document.importNode(content, true).childNodes);
    [...main().querySelectorAll(".scroll, pre")].forEach((element, at) => {
      if (scrolled[at]) [element.scrollLeft, element.scrollTop] = scrolled[at];
    });
    if (focused) {
      const found = alike(focused.key);
      const element = (focused.id && document.getElementById(focused.id)) || found[place] || found[0] || main();
      element.focus({ preventScroll: true });
    }
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
        headers: { Accept: "text/html", "X-Penstock-Refresh": "1" }, credentials: "same-origin",
        // On a line that has gone silent no answer ends by itself.
        signal: AbortSignal.timeout(deadAfter) });
      if (response.redirected && new URL(response.url).pathname === "/login") { location.assign(response.url); return; }
      isRefused = !response.ok;
      if (response.ok) {
        const text = await response.text();
        took = Date.now() - beganAt;
        // Without a line of its own, as the server has no more of them, the page is as new as this.
        setLost(false);
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
    if (source || document.hidden || Date.now() < refusedUntil) return;
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
      if (!source || source.readyState !== EventSource.CLOSED) { setLost(true); return; }
      // One that the server has refused does not come back by itself, and the next one is refused as well for a while. The page may still
      // be had, which says whether the connection is lost, or leads to the sign-in.
      disconnect();
      refusedUntil = Date.now() + slowest;
      touch();
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
    // Not every end of what holds the page is told: a pointer that has gone is not.
    if (isDirty && (isRefused || !isHeld())) soon();
    grow();
    show();
  }, 2000);
  bar.hidden = false;
  connect();
  show();
})();
