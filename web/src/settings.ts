// Settings that the browser keeps from one run to the next: a cookie, because local storage belongs to one port and every
// run uses another. A page that is opened as a file has no cookies and uses local storage.

/** The stored text; empty if there is none. */
export function readSetting(name: string): string {
  try {
    if (location.protocol === "file:") return localStorage.getItem(name) ?? "";
    return document.cookie.split("; ").find((cookie) => cookie.startsWith(`${name}=`))?.slice(name.length + 1) ?? "";
  } catch {
    return ""; // a frame in a notebook may not store anything
  }
}

export function writeSetting(name: string, text: string): void {
  try {
    if (location.protocol === "file:") localStorage.setItem(name, text);
    else document.cookie = `${name}=${text}; Path=/; Max-Age=31536000; SameSite=Strict`;
  } catch {
    // storing is not allowed: the next run has the default
  }
}
