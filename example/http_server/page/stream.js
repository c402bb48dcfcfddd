// The states of the server, four per second, while the page is visible. A hidden page holds no
// connection: browsers open only six to a server, for all its tabs together.

const retryAfter = 2000;

export function follow(onState, onConnection) {
    let source = null;
    let timer = 0;

    function open() {
        source = new EventSource('events');
        source.onmessage = (event) => {
            onConnection(true);
            onState(JSON.parse(event.data));
        };
        source.onerror = () => {
            onConnection(false);
            if (source.readyState !== EventSource.CLOSED) return; // it reconnects by itself
            close();
            timer = setTimeout(open, retryAfter);
        };
    }
    function close() {
        clearTimeout(timer);
        source?.close();
        source = null;
    }

    document.addEventListener('visibilitychange', () => {
        if (document.hidden) close();
        else if (!source) open();
    });
    open();
}
