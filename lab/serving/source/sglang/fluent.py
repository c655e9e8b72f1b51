"""Plain prose about any subject: coherent sentences without repetition, for questions that no rule knows."""

import random
import re

OPENINGS = (
    "{Topic} is easier to understand when it is taken apart step by step.",
    "There are several sides to {topic}, and each of them deserves a short look.",
    "A good way to begin with {topic} is to ask what problem it solves.",
    "People have thought about {topic} for a long time, and a few ideas have lasted.",
)
SENTENCES = (
    "First, it helps to separate what is known from what is only assumed.",
    "The basic idea is simple, while the details depend on the situation.",
    "Small changes at the start can lead to noticeable differences later on.",
    "Careful measurement matters more than a clever guess.",
    "In practice, most difficulties come from a few recurring causes.",
    "One of them is time, because every part needs its own share of it.",
    "Another is the environment, which is rarely as quiet as a textbook suggests.",
    "Experience shows that a clear plan saves more effort than it costs.",
    "A second look from someone else often reveals what the first one missed.",
    "Tools should be chosen for the task and not the other way round.",
    "It is also worth keeping notes, since memory is less reliable than paper.",
    "When two explanations fit equally well, the simpler one is the better start.",
    "Comparing a few examples side by side makes the pattern visible.",
    "Not every exception is important, but each one deserves a brief check.",
    "The history of the subject explains many of its odd names.",
    "Numbers give a sense of scale, even when they are only rough estimates.",
    "Where energy flows, heat is produced, and it has to go somewhere.",
    "Safety comes from habits rather than from warnings on a label.",
    "Over the years the methods have become faster, cheaper and more precise.",
    "Beginners usually profit from starting with the smallest complete case.",
)
ENDINGS = (
    "With that in mind, {topic} turns from a mystery into a matter of patience.",
    "All in all, {topic} rewards those who look closely and take their time.",
    "These points are a starting place, and further questions will follow naturally.",
)
IGNORED = {
    "a",
    "about",
    "an",
    "and",
    "are",
    "briefly",
    "can",
    "describe",
    "detail",
    "do",
    "does",
    "explain",
    "for",
    "give",
    "how",
    "i",
    "in",
    "is",
    "it",
    "me",
    "of",
    "please",
    "short",
    "story",
    "tell",
    "the",
    "to",
    "what",
    "why",
    "work",
    "works",
    "write",
    "you",
}


def topic_of(question):
    """The first few words of a question that carry meaning."""
    words = [word for word in re.findall(r"[A-Za-z][A-Za-z'-]+", question) if word.lower() not in IGNORED]
    return " ".join(words[:3]).lower() or "the question"


def write(question, sentences, seed):
    """A paragraph of so many sentences (three to twenty-two) about the question's topic."""
    chooser = random.Random(f"{seed}/{question}")
    topic = topic_of(question)
    middle = chooser.sample(SENTENCES, min(max(sentences - 2, 1), len(SENTENCES)))
    text = " ".join([chooser.choice(OPENINGS), *middle, chooser.choice(ENDINGS)])
    return text.replace("{topic}", topic).replace("{Topic}", topic[0].upper() + topic[1:])
