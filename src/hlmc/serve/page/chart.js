// Curves over time on a canvas: the module of the playground of the documentation and of the page of hlmc serve.
"use strict";

/** The context of a canvas in CSS pixels; the canvas has the size that the page gives it. */
function contextOf(canvas, height) {
    const scale = Math.min(2, window.devicePixelRatio || 1);
    const width = canvas.shownWidth ??= canvas.clientWidth;
    if (canvas.width !== Math.round(width * scale) || canvas.height !== Math.round(height * scale)) {
        canvas.width = Math.round(width * scale);
        canvas.height = Math.round(height * scale);
        canvas.style.height = `${height}px`;
    }
    const context = canvas.getContext("2d");
    context.setTransform(scale, 0, 0, scale, 0, 0);
    context.clearRect(0, 0, width, height);
    return [context, width];
}

const FONT = "12px system-ui, sans-serif";


/** A round number of at least x: 1, 2 or 5 times a power of ten. */
function round(x) {
    const power = 10 ** Math.floor(Math.log10(x));
    return power * [1, 2, 5, 10].find((m) => m * power >= x * 0.999999);
}

/** A short form of a number: 12k, 3.4M. */
function brief(x) {
    const size = Math.abs(x);
    if (size >= 1e6) return `${+(x / 1e6).toPrecision(3)}M`;
    if (size >= 1e4) return `${+(x / 1e3).toPrecision(3)}k`;
    return size >= 100 || Number.isInteger(x) ? x.toFixed(0) : `${+x.toPrecision(3)}`;
}

const NAMED = 560; // pixels from which a chart has room for the names of its curves

/**
 * Curves. Names stand at their ends, in a margin where no data is; where there is no room, a table must have them.
 *
 * picture.curves     [{name, colour, points: [[x, y], ...] or [[x, y, low, high], ...] with a band}]
 * picture.begin, end the ends of the axis of time; picture.label(x) is the text at x, picture.across the name of the axis
 * picture.high       the axis of values reaches at least this, and with picture.fixed no further; picture.low likewise (0)
 * picture.log        logarithmic: values below 1 are drawn at 1
 * picture.ink        the colours text, faint and line
 * picture.pointed    a time to be marked; picture.empty a text where there is nothing yet
 *
 * Gives timeOf(pixel), the time at a place.
 */
function drawCurves(canvas, picture) {
    const { curves, begin, end, height, ink, log } = picture;
    const [context, width] = contextOf(canvas, height);
    const named = width > NAMED;
    context.font = FONT;
    const longest = Math.max(0, ...curves.map(({ name }) => context.measureText(name).width));
    const margin = named ? Math.min(Math.max(132, longest + 26), width / 3) : 12;
    const box = { left: 52, right: width - margin, top: 10, bottom: height - (picture.across ? 34 : 22) };
    let low = picture.low ?? 0, high = picture.high;
    for (const { points } of picture.fixed ? [] : curves) {
        for (const [, y, below, above] of points) {
            low = Math.min(low, below ?? y);
            high = Math.max(high, above ?? y);
        }
    }
    let unit = round((high - low) / 5);
    let ticks;
    if (log) {
        low = 0;
        high = Math.ceil(Math.log10(high));
        ticks = Array.from({ length: high + 1 }, (_, i) => i);
        unit = 1;
    } else {
        low = Math.floor(low / unit) * unit;
        if (!picture.fixed) high = Math.ceil(high / unit + 0.02) * unit;
        ticks = Array.from({ length: Math.floor((high - low) / unit + 1.001) }, (_, i) => low + i * unit);
    }
    const x = (t) => box.left + (box.right - box.left) * (t - begin) / (end - begin);
    const place = (v) => box.bottom - (box.bottom - box.top) * (v - low) / (high - low);
    const y = log ? (v) => place(Math.log10(Math.max(1, v))) : place;
    context.lineWidth = 1;
    context.textAlign = "right";
    context.textBaseline = "middle";
    for (const v of ticks) {
        const at = Math.round(place(v)) + 0.5;
        context.strokeStyle = Math.abs(v) < unit / 2 ? ink.faint : ink.line;
        context.beginPath();
        context.moveTo(box.left, at);
        context.lineTo(box.right, at);
        context.stroke();
        context.fillStyle = ink.faint;
        context.fillText(brief(log ? 10 ** v : Math.abs(v) < unit / 2 ? 0 : +v.toPrecision(6)), box.left - 6, at);
    }
    context.textBaseline = "top";
    const wide = picture.label ? context.measureText(picture.label(end)).width + 24 : 0;
    const parts = Math.max(1, Math.min(named ? 5 : 2, Math.floor((box.right - box.left) / wide - 0.5))); // the last one ends there
    for (let i = 0; i <= parts; i++) {
        context.textAlign = i === parts ? "right" : "center";
        const at = begin + (end - begin) * i / parts;
        context.fillText((picture.label ?? brief)(at), x(at), box.bottom + 6);
    }
    context.textAlign = "center";
    if (picture.across) context.fillText(picture.across, (box.left + box.right) / 2, box.bottom + 20);
    if (picture.empty) context.fillText(picture.empty, (box.left + box.right) / 2, (box.top + box.bottom) / 2);
    if (picture.pointed !== undefined) {
        context.strokeStyle = ink.faint;
        context.beginPath();
        context.moveTo(Math.round(x(picture.pointed)) + 0.5, box.top);
        context.lineTo(Math.round(x(picture.pointed)) + 0.5, box.bottom);
        context.stroke();
    }
    for (const { colour, points } of curves) {
        const banded = points.filter((point) => point.length === 4);
        if (banded.length < 2) continue;
        context.fillStyle = colour;
        context.globalAlpha = 0.15;
        context.beginPath();
        banded.forEach(([t, , below], j) => context[j ? "lineTo" : "moveTo"](x(t), y(below)));
        banded.reverse().forEach(([t, , , above]) => context.lineTo(x(t), y(above)));
        context.fill();
        context.globalAlpha = 1;
    }
    const labels = [];
    for (const { name, colour, points } of curves) {
        if (!points.length) continue;
        context.strokeStyle = colour;
        context.lineWidth = 2;
        context.lineJoin = "round";
        context.beginPath();
        points.forEach(([t, v], j) => context[j ? "lineTo" : "moveTo"](x(t), y(v)));
        context.stroke();
        labels.push({ y: y(points[points.length - 1][1]), name, colour });
    }
    if (named && labels.length) nameCurves(context, labels, box, ink.text);
    return { timeOf: (at) => begin + (at - box.left) / (box.right - box.left) * (end - begin) };
}

/** The names at the ends of the curves, apart from one another. */
function nameCurves(context, labels, box, colour) {
    labels.sort((a, b) => a.y - b.y);
    labels.forEach((label, i) => { if (i) label.y = Math.max(label.y, labels[i - 1].y + 15); });
    const over = labels[labels.length - 1].y - (box.bottom - 6);
    if (over > 0) {
        labels[labels.length - 1].y -= over;
        for (let i = labels.length - 2; i >= 0; i--) labels[i].y = Math.min(labels[i].y, labels[i + 1].y - 15);
    }
    context.textAlign = "left";
    context.textBaseline = "middle";
    for (const label of labels) {
        context.fillStyle = label.colour;
        context.fillRect(box.right + 8, label.y - 4, 8, 8);
        context.fillStyle = colour;
        context.fillText(label.name, box.right + 22, label.y);
    }
}
