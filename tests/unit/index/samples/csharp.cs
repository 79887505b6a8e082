using System;
using System.Collections.Generic;

namespace Example.Text
{
    /// <summary>Counts words.</summary>
    [Serializable]
    public class WordCounter
    {
        private readonly Dictionary<string, int> counts = new();

        public int Total { get; private set; }

        public WordCounter(IEnumerable<string> words)
        {
            foreach (var word in words) Add(word);
        }

        /// <summary>Adds one word.</summary>
        public void Add(string word)
        {
            counts[word] = counts.GetValueOrDefault(word) + 1;
            Total++;
        }
    }

    public interface ISource
    {
        string Read();
    }

    public record Entry(string Word, int Count);
}
