/* Browsers start no worker from a file on a disk, and the search is one.
   Where the page is such a file, a hidden frame takes its place: it runs the same script,
   and messages go between the two windows. Loaded before the theme's own script. */
if (location.protocol === "file:")
  window.Worker = class extends EventTarget {
    constructor(address) {
      super();
      this.waiting = []; // messages from before the script has run
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      this.frame.title = "search";
      this.frame.srcdoc = "<!doctype html><title>search</title>";
      this.frame.addEventListener("load", () => this.start(address), { once: true });
      document.body.append(this.frame);
    }

    start(address) {
      const inside = this.frame.contentWindow;
      inside.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
      const script = inside.document.createElement("script");
      script.src = new URL(address, document.baseURI);
      script.addEventListener("load", () => {
        this.hand = (data) => inside.dispatchEvent(new inside.MessageEvent("message", { data }));
        this.waiting.forEach((data) => this.hand(data));
      });
      inside.document.head.append(script);
    }

    postMessage(data) {
      if (this.hand) this.hand(data);
      else this.waiting.push(data);
    }

    terminate() {
      this.frame.remove();
    }
  };
